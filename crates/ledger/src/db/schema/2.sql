-- Regrades belong to the trial that they are of, and deleted rows of evidence are seen.
ALTER TABLE trials ADD COLUMN regrade_of TEXT;
-- The digest of what stands in `evidence` of a trial.
ALTER TABLE trials ADD COLUMN evidence_digest BLOB;
DROP INDEX trials_scores;
CREATE INDEX trials_scores ON trials
    (agent_digest, task, status, failure, reward, cost_usd, seconds_total, task_digest, experiment, regrade_of);
CREATE INDEX trials_regrades ON trials (regrade_of) WHERE regrade_of IS NOT NULL;
DROP VIEW IF EXISTS leaderboard;
DROP VIEW IF EXISTS leaderboard_tasks;
