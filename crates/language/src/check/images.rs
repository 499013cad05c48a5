//! Base images and packages.

use std::collections::BTreeMap;

use super::Context;

pub fn check(context: &mut Context<'_>) {
    let spec = context.spec;
    for (key, image) in
        [("main", &spec.images.main), ("sidecar", &spec.images.sidecar), ("verifier", &spec.images.verifier)]
    {
        if image.is_empty() {
            context.error(
                &["images", key],
                "the image has no name",
                "leave the key out for the standard image",
            );
        } else if image.starts_with('-') || image.contains(is_odd) {
            context.error(
                &["images", key],
                format!("`{}` cannot be the name of an image", image.escape_debug()),
                "write it as `docker pull` takes it, for example \"python:3.13-trixie\"",
            );
        }
    }
    packages(context);
}

/// What no reference to an image holds, and what a Dockerfile would take as more than a name.
fn is_odd(c: char) -> bool {
    !(c.is_ascii_alphanumeric() || "._-/:@".contains(c))
}

fn packages(context: &mut Context<'_>) {
    let packages = &context.spec.packages;
    for (key, names) in [("main", &packages.main), ("sidecar", &packages.sidecar)] {
        let mut seen = BTreeMap::new();
        for (index, package) in names.iter().enumerate() {
            let index = index.to_string();
            let (name, version) = match package.split_once('=') {
                Some((name, version)) => (name, Some(version)),
                None => (package.as_str(), None),
            };
            if !is_package(name) || version.is_some_and(|version| !is_version(version)) {
                context.error(
                    &["packages", key, &index],
                    format!("`{}` is not a Debian package", package.escape_debug()),
                    "write `name` or `name=version`, in small letters",
                );
            } else if let Some(first) = seen.insert(name, index.clone()) {
                context.error_with(
                    &["packages", key, &index],
                    format!("the package `{name}` is named twice"),
                    "take one of them out",
                    (&["packages", key, &first], "first here"),
                );
            }
        }
    }
    match packages.snapshot.as_deref() {
        None if packages.main.is_empty() && packages.sidecar.is_empty() => {
            if !context.spec.implied_packages().is_empty() {
                context.error(
                    &["harbor", "inner_docker"],
                    "the eval sidecar needs Docker's client, and nothing says of which day",
                    "add `packages = { snapshot = \"YYYY-MM-DD\" }`, or name an image in `images.sidecar` that has \
                     `docker` and `docker compose`",
                );
            }
        }
        None => context.error(
            &["packages"],
            "packages without a day to take them from",
            "add `snapshot = \"YYYY-MM-DD\"`, so that the same spec gives the same image next year",
        ),
        Some("off") => {}
        Some(day) if !is_day(day) => context.error(
            &["packages", "snapshot"],
            format!("`{}` is not a day", day.escape_debug()),
            "write year, month and day: \"2026-01-31\"; or \"off\" for what the image's own sources have",
        ),
        Some(_) => {}
    }
}

/// Debian policy 5.6.1: at least two characters, starting with a letter or digit.
fn is_package(name: &str) -> bool {
    name.len() >= 2
        && name.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit())
        && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"+.-".contains(&b))
}

/// Debian policy 5.6.12.
fn is_version(version: &str) -> bool {
    version.starts_with(|c: char| c.is_ascii_digit())
        && version.bytes().all(|b| b.is_ascii_alphanumeric() || b".+-~:".contains(&b))
}

fn is_day(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let [year, month, day] = parts.as_slice() else { return false };
    if (year.len(), month.len(), day.len()) != (4, 2, 2)
        || !text.bytes().all(|b| b.is_ascii_digit() || b == b'-')
    {
        return false;
    }
    let (Ok(year), Ok(month), Ok(day)) = (year.parse::<u32>(), month.parse::<u32>(), day.parse::<u32>())
    else {
        return false;
    };
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if leap => 29,
        2 => 28,
        _ => return false,
    };
    // The archive of snapshots begins in 2005.
    year >= 2005 && (1..=days).contains(&day)
}

#[cfg(test)]
mod tests {
    use super::{is_day, is_package, is_version};

    #[test]
    fn days_of_the_calendar() {
        for day in ["2024-02-29", "2026-12-31"] {
            assert!(is_day(day), "{day}");
        }
        for day in
            ["2025-02-29", "2026-13-01", "2026-1-1", "26-01-01", "2026-01-00", "2026-01-01T00", "+026-01-01"]
        {
            assert!(!is_day(day), "{day}");
        }
    }

    #[test]
    fn debian_names() {
        assert!(is_package("g++") && is_package("libc6-dev") && is_package("7zip"));
        assert!(!is_package("x") && !is_package("Git") && !is_package("a b") && !is_package("-git"));
        assert!(is_version("1:2.39-2~bpo+1") && !is_version("latest") && !is_version(""));
    }
}
