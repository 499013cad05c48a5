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
