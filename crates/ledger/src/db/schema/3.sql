-- What the verdict of a trial says of a reward: the baseline's, and which rewards are better.
ALTER TABLE rewards ADD COLUMN baseline REAL;
ALTER TABLE rewards ADD COLUMN direction TEXT;
CREATE INDEX rewards_held_against ON rewards (trial, key, baseline, direction)
    WHERE step = -1 AND (baseline IS NOT NULL OR direction IS NOT NULL);
