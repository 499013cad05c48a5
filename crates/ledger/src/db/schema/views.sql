-- Trials that another grade of the same attempt has taken the place of: those that were graded anew, regrades that came to
-- no grade, and all but the newest of several regrades.
CREATE VIEW superseded AS
SELECT old.trial FROM trials AS new JOIN trials AS old ON old.id = new.regrade_of
    WHERE new.regrade_of IS NOT NULL AND new.status = 'complete'
UNION
SELECT new.trial FROM trials AS new JOIN trials AS old ON old.id = new.regrade_of
    WHERE new.regrade_of IS NOT NULL AND new.status <> 'complete'
UNION
SELECT older.trial FROM trials AS newer JOIN trials AS older ON older.regrade_of = newer.regrade_of
    WHERE newer.regrade_of IS NOT NULL AND newer.status = 'complete'
        AND (coalesce(newer.started_at, ''), newer.id) > (coalesce(older.started_at, ''), older.id);

-- What `cargo xtask leaderboard` shows of all trials, for who reads the ledger with SQL. docs/statistics.md says what it
-- means: complete trials only, their mean on each task first.
CREATE VIEW leaderboard_tasks AS
SELECT
    agent_digest,
    task,
    count(*) FILTER (WHERE status = 'complete' AND reward IS NOT NULL) AS complete,
    count(*) FILTER (WHERE status = 'partial' OR (status = 'complete' AND reward IS NULL)) AS partial,
    count(*) FILTER (WHERE status = 'missing') AS missing,
    avg(reward) FILTER (WHERE status = 'complete') AS reward,
    avg(cost_usd) FILTER (WHERE status = 'complete' AND reward IS NOT NULL) AS cost_usd,
    avg(seconds_total) FILTER (WHERE status = 'complete' AND reward IS NOT NULL) AS seconds
FROM trials
WHERE trial NOT IN (SELECT trial FROM superseded)
GROUP BY agent_digest, task;

CREATE VIEW leaderboard AS
SELECT
    agents.label AS agent,
    agents.version AS agent_version,
    agents.model,
    agent_digest,
    avg(reward) AS mean,
    count(*) AS tasks,
    count(reward) AS tasks_counted,
    sum(complete) AS complete,
    sum(partial) AS partial,
    sum(missing) AS missing,
    avg(cost_usd) AS cost_usd,
    avg(seconds) AS seconds
FROM leaderboard_tasks
LEFT JOIN agents ON agents.digest = agent_digest
GROUP BY agent_digest
ORDER BY mean DESC, tasks_counted DESC, agent, agent_digest;
