-- The first schema of the ledger. Digests of files are 32 bytes; all others are hexadecimal text.
CREATE TABLE agents (
    digest TEXT PRIMARY KEY,
    -- The digest of the same configuration without the version, which is known only once the agent has run.
    family TEXT NOT NULL,
    label TEXT NOT NULL,
    version TEXT,
    model TEXT,
    configuration TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE jobs (
    key TEXT PRIMARY KEY,
    name TEXT,
    directory TEXT NOT NULL,
    harbor_version TEXT,
    planned INTEGER,
    finished INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE trials (
    trial INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    experiment TEXT,
    job TEXT,
    job_key TEXT,
    trial_name TEXT NOT NULL,
    task TEXT NOT NULL,
    task_folder TEXT,
    task_digest TEXT,
    spec TEXT,
    spec_digest TEXT,
    baseline TEXT,
    dataset TEXT,
    agent TEXT NOT NULL,
    agent_digest TEXT NOT NULL REFERENCES agents (digest),
    agent_version TEXT,
    model TEXT,
    environment TEXT,
    harbor_version TEXT,
    source TEXT NOT NULL,
    status TEXT NOT NULL,
    failure TEXT,
    reward REAL,
    reward_key TEXT,
    reward_valid INTEGER NOT NULL,
    started_at TEXT,
    finished_at TEXT,
    seconds_environment REAL,
    seconds_agent_setup REAL,
    seconds_agent REAL,
    seconds_verifier REAL,
    seconds_total REAL,
    input_tokens INTEGER,
    cached_tokens INTEGER,
    output_tokens INTEGER,
    cost_usd REAL,
    -- What the result's bytes were before redaction: tells a duplicate from a conflict.
    result_digest BLOB,
    -- The folder it was imported from.
    directory TEXT,
    exception_type TEXT,
    exception_step TEXT,
    exception_message TEXT,
    note TEXT
) STRICT;
CREATE INDEX trials_by_job ON trials (job_key, status);
CREATE INDEX trials_by_name ON trials (trial_name);
-- All that a leaderboard reads, so that it need not read the rest.
CREATE INDEX trials_scores ON trials
    (agent_digest, task, status, failure, reward, cost_usd, seconds_total, task_digest, experiment);

CREATE TABLE rewards (
    trial INTEGER NOT NULL REFERENCES trials (trial) ON DELETE CASCADE,
    -- The position of the step, or -1 for the trial's own.
    step INTEGER NOT NULL,
    key TEXT NOT NULL,
    value REAL,
    text TEXT,
    reason TEXT,
    PRIMARY KEY (trial, step, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE steps (
    trial INTEGER NOT NULL REFERENCES trials (trial) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    name TEXT NOT NULL,
    seconds_agent REAL,
    seconds_verifier REAL,
    input_tokens INTEGER,
    cached_tokens INTEGER,
    output_tokens INTEGER,
    cost_usd REAL,
    exception_type TEXT,
    exception_message TEXT,
    PRIMARY KEY (trial, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE evidence (
    trial INTEGER NOT NULL REFERENCES trials (trial) ON DELETE CASCADE,
    path TEXT NOT NULL,
    kept TEXT NOT NULL,
    digest BLOB,
    size INTEGER NOT NULL,
    PRIMARY KEY (trial, path)
) STRICT, WITHOUT ROWID;

-- The files of the store, and what lies where in them.
CREATE TABLE packs (
    pack INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    size INTEGER NOT NULL
) STRICT;

CREATE TABLE blobs (
    digest BLOB PRIMARY KEY,
    pack INTEGER NOT NULL REFERENCES packs (pack),
    start INTEGER NOT NULL,
    length INTEGER NOT NULL,
    size INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Files that were imported, as they were: one that has not changed since need not be read again.
CREATE TABLE seen (
    path BLOB PRIMARY KEY,
    stamp BLOB NOT NULL,
    trial INTEGER REFERENCES trials (trial) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
