-- What a trial's gateway metered, by who asked, and what the agent claims: until now that was all that was known.
ALTER TABLE trials ADD COLUMN claimed_input_tokens INTEGER;
ALTER TABLE trials ADD COLUMN claimed_cached_tokens INTEGER;
ALTER TABLE trials ADD COLUMN claimed_output_tokens INTEGER;
ALTER TABLE trials ADD COLUMN claimed_cost_usd REAL;
UPDATE trials SET claimed_input_tokens = input_tokens, claimed_cached_tokens = cached_tokens,
    claimed_output_tokens = output_tokens, claimed_cost_usd = cost_usd;
ALTER TABLE trials ADD COLUMN metered_producer_requests INTEGER;
ALTER TABLE trials ADD COLUMN metered_producer_input_tokens INTEGER;
ALTER TABLE trials ADD COLUMN metered_producer_cached_tokens INTEGER;
ALTER TABLE trials ADD COLUMN metered_producer_output_tokens INTEGER;
ALTER TABLE trials ADD COLUMN metered_producer_cost_usd REAL;
ALTER TABLE trials ADD COLUMN metered_evaluation_requests INTEGER;
ALTER TABLE trials ADD COLUMN metered_evaluation_input_tokens INTEGER;
ALTER TABLE trials ADD COLUMN metered_evaluation_cached_tokens INTEGER;
ALTER TABLE trials ADD COLUMN metered_evaluation_output_tokens INTEGER;
ALTER TABLE trials ADD COLUMN metered_evaluation_cost_usd REAL;
ALTER TABLE trials ADD COLUMN metered_finalization_requests INTEGER;
ALTER TABLE trials ADD COLUMN metered_finalization_input_tokens INTEGER;
ALTER TABLE trials ADD COLUMN metered_finalization_cached_tokens INTEGER;
ALTER TABLE trials ADD COLUMN metered_finalization_output_tokens INTEGER;
ALTER TABLE trials ADD COLUMN metered_finalization_cost_usd REAL;
DROP INDEX trials_scores;
CREATE INDEX trials_scores ON trials
    (agent_digest, task, status, failure, reward, cost_usd, seconds_total, task_digest, experiment, regrade_of,
     metered_producer_requests, metered_producer_cost_usd, metered_evaluation_cost_usd, metered_finalization_cost_usd);
