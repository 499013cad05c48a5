/* A clock that goes at a twentieth of its speed from when this is loaded, in place of the C library's. */
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long long begin[16];

int clock_gettime(clockid_t clock, struct timespec *at)
{
    long result = syscall(SYS_clock_gettime, clock, at);
    if (result == 0 && clock >= 0 && clock < 16) {
        long long now = at->tv_sec * 1000000000LL + at->tv_nsec;
        if (begin[clock] == 0)
            begin[clock] = now;
        now = begin[clock] + (now - begin[clock]) / 20;
        at->tv_sec = now / 1000000000LL;
        at->tv_nsec = now % 1000000000LL;
    }
    return (int)result;
}

int gettimeofday(struct timeval *at, void *zone)
{
    struct timespec now;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &now);
    at->tv_sec = now.tv_sec;
    at->tv_usec = now.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *at)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (at)
        *at = now.tv_sec;
    return now.tv_sec;
}
