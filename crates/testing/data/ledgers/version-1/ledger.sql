-- A ledger that Taskwright at schema version 1 made of the trials in ../../jobs, as `.dump` writes it.
PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE agents (
    digest TEXT PRIMARY KEY,
    -- The digest of the same configuration without the version, which is known only once the agent has run.
    family TEXT NOT NULL,
    label TEXT NOT NULL,
    version TEXT,
    model TEXT,
    configuration TEXT NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO agents VALUES('ba6a9cbdae298b8d3b47535569b497c2bc64d1cbd7f4ce53f0539df7dbe60651','cad46c49c931ebbc154f5e498188147f6878fdbf4247b2ee21a30055f4809e86','oracle','1.0.0',NULL,'{"configuration":{"name":"oracle"},"version":"1.0.0"}');
CREATE TABLE jobs (
    key TEXT PRIMARY KEY,
    name TEXT,
    directory TEXT NOT NULL,
    harbor_version TEXT,
    planned INTEGER,
    finished INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO jobs VALUES('790792b7-7f91-40b6-bcf3-9bd1fbf79601','two-attempts','/srv/jobs/two-attempts','0.26.0',10,1);
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
INSERT INTO trials VALUES(1,'8029594e-df41-42ba-b9e2-fcbd98d204f0',NULL,'two-attempts','790792b7-7f91-40b6-bcf3-9bd1fbf79601','fails__4xhe3v9','own/fails','fails','sha256:0f336ed143607d2f1331618a0846af0d16b5e3f63035408e58f491a408f93f21',NULL,NULL,NULL,NULL,'oracle','ba6a9cbdae298b8d3b47535569b497c2bc64d1cbd7f4ce53f0539df7dbe60651','1.0.0',NULL,'docker','0.26.0','import','complete',NULL,0.0,'reward',1,'2026-11-28T17:30:54.722159Z','2026-11-28T17:31:24.942423Z',9.5987869999999997361,0.00011900000000000000583,2.0308730000000001503,2.7047180000000001776,30.220264000000000236,NULL,NULL,NULL,NULL,X'f5f69ccc6a2e390d3fbcd049821e3dc8d38386f8dba8f7b88eff4b7301f6a14d','/srv/jobs/two-attempts/fails__4xhe3v9',NULL,NULL,NULL,NULL);
INSERT INTO trials VALUES(2,'cb86c3b6-ab93-4750-8ed2-2c4873b4c172',NULL,'two-attempts','790792b7-7f91-40b6-bcf3-9bd1fbf79601','passes__mqi35G4','own/passes','passes','sha256:12b250562d7d688df61cc831353bfc4678cc70f9d2eb789a9dd455fd48f03b3d',NULL,NULL,NULL,NULL,'oracle','ba6a9cbdae298b8d3b47535569b497c2bc64d1cbd7f4ce53f0539df7dbe60651','1.0.0',NULL,'docker','0.26.0','import','complete',NULL,1.0,'reward',1,'2026-11-28T17:31:25.474644Z','2026-11-28T17:31:57.565577Z',9.9643049999999995236,9.7999999999999996835e-05,2.6316749999999999864,3.5424280000000001322,32.090932999999999708,NULL,NULL,NULL,NULL,X'cf46051ad04c851c8b061b84cf38159523e826a2c6ec197f1969f68f0c2a28c9','/srv/jobs/two-attempts/passes__mqi35G4',NULL,NULL,NULL,NULL);
INSERT INTO trials VALUES(3,'2f5f7160-fda1-4323-a4d1-1573c6826aa9',NULL,'two-attempts','790792b7-7f91-40b6-bcf3-9bd1fbf79601','silent__xEBEzei','own/silent','silent','sha256:923007fd0be21ddb9992a0d248796a1fca84e633e0d5f74038c5fcc56922dec9',NULL,NULL,NULL,NULL,'oracle','ba6a9cbdae298b8d3b47535569b497c2bc64d1cbd7f4ce53f0539df7dbe60651','1.0.0',NULL,'docker','0.26.0','import','partial','verifier',NULL,NULL,0,'2026-11-28T17:33:23.516180Z','2026-11-28T17:34:06.868228Z',15.21040900000000029,8.7999999999999997711e-05,4.2547639999999997684,5.0689719999999995891,43.352048000000003467,NULL,NULL,NULL,NULL,X'bd182343dbf84f4464736cebed5a8ba2cac1acab270b8cdceda6fc6e1a771dad','/srv/jobs/two-attempts/silent__xEBEzei','RewardFileNotFoundError',NULL,'No reward file found at jobs/two-attempts/silent__xEBEzei/verifier/reward.txt or jobs/two-attempts/silent__xEBEzei/verifier/reward.json',NULL);
INSERT INTO trials VALUES(4,'missing-df156d734a933712aa6587ec5acd4420',NULL,'two-attempts','790792b7-7f91-40b6-bcf3-9bd1fbf79601','fails','own/fails','fails','sha256:0f336ed143607d2f1331618a0846af0d16b5e3f63035408e58f491a408f93f21',NULL,NULL,NULL,NULL,'oracle','ba6a9cbdae298b8d3b47535569b497c2bc64d1cbd7f4ce53f0539df7dbe60651',NULL,NULL,'docker','0.26.0','import','missing',NULL,NULL,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'/srv/jobs/two-attempts',NULL,NULL,NULL,'planned, and there is no result');
INSERT INTO trials VALUES(5,'missing-0082970bf4c2a199a90f4ef710ee0495',NULL,'two-attempts','790792b7-7f91-40b6-bcf3-9bd1fbf79601','keys','keys','keys','sha256:05fb3bcc7736c67d4914edd4cff443ad0abaa43bf183180be3bdd9f1cfda1e64',NULL,NULL,NULL,NULL,'oracle','ba6a9cbdae298b8d3b47535569b497c2bc64d1cbd7f4ce53f0539df7dbe60651',NULL,NULL,'docker','0.26.0','import','missing',NULL,NULL,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'/srv/jobs/two-attempts',NULL,NULL,NULL,'planned, and there is no result');
INSERT INTO trials VALUES(6,'missing-73762839734e5fdb5fe9adb1f52bf267',NULL,'two-attempts','790792b7-7f91-40b6-bcf3-9bd1fbf79601','keys','keys','keys','sha256:05fb3bcc7736c67d4914edd4cff443ad0abaa43bf183180be3bdd9f1cfda1e64',NULL,NULL,NULL,NULL,'oracle','ba6a9cbdae298b8d3b47535569b497c2bc64d1cbd7f4ce53f0539df7dbe60651',NULL,NULL,'docker','0.26.0','import','missing',NULL,NULL,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'/srv/jobs/two-attempts',NULL,NULL,NULL,'planned, and there is no result');
INSERT INTO trials VALUES(7,'missing-b020fe720d80c29e97f6105f3ffb65bf',NULL,'two-attempts','790792b7-7f91-40b6-bcf3-9bd1fbf79601','late','late','late','sha256:027118e9cb110ec0982adf29b460b260b7a17c39a608fbda3a87d35e30e62cd2',NULL,NULL,NULL,NULL,'oracle','ba6a9cbdae298b8d3b47535569b497c2bc64d1cbd7f4ce53f0539df7dbe60651',NULL,NULL,'docker','0.26.0','import','missing',NULL,NULL,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'/srv/jobs/two-attempts',NULL,NULL,NULL,'planned, and there is no result');
INSERT INTO trials VALUES(8,'missing-c214031eb450fd876fb74b99f53642d6',NULL,'two-attempts','790792b7-7f91-40b6-bcf3-9bd1fbf79601','late','late','late','sha256:027118e9cb110ec0982adf29b460b260b7a17c39a608fbda3a87d35e30e62cd2',NULL,NULL,NULL,NULL,'oracle','ba6a9cbdae298b8d3b47535569b497c2bc64d1cbd7f4ce53f0539df7dbe60651',NULL,NULL,'docker','0.26.0','import','missing',NULL,NULL,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'/srv/jobs/two-attempts',NULL,NULL,NULL,'planned, and there is no result');
INSERT INTO trials VALUES(9,'missing-cf1ee08dad2f8b0418b60ce1b6c52503',NULL,'two-attempts','790792b7-7f91-40b6-bcf3-9bd1fbf79601','passes','own/passes','passes','sha256:12b250562d7d688df61cc831353bfc4678cc70f9d2eb789a9dd455fd48f03b3d',NULL,NULL,NULL,NULL,'oracle','ba6a9cbdae298b8d3b47535569b497c2bc64d1cbd7f4ce53f0539df7dbe60651',NULL,NULL,'docker','0.26.0','import','missing',NULL,NULL,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'/srv/jobs/two-attempts',NULL,NULL,NULL,'planned, and there is no result');
INSERT INTO trials VALUES(10,'missing-46a9a2c9951319d840c6ba20dfb2e2ef',NULL,'two-attempts','790792b7-7f91-40b6-bcf3-9bd1fbf79601','silent','own/silent','silent','sha256:923007fd0be21ddb9992a0d248796a1fca84e633e0d5f74038c5fcc56922dec9',NULL,NULL,NULL,NULL,'oracle','ba6a9cbdae298b8d3b47535569b497c2bc64d1cbd7f4ce53f0539df7dbe60651',NULL,NULL,'docker','0.26.0','import','missing',NULL,NULL,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'/srv/jobs/two-attempts',NULL,NULL,NULL,'planned, and there is no result');
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
INSERT INTO rewards VALUES(1,-1,'reward',0.0,NULL,NULL);
INSERT INTO rewards VALUES(2,-1,'reward',1.0,NULL,NULL);
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
INSERT INTO evidence VALUES(1,'config.json','stored',X'808373178c185dfcf99f5e208e6d223421a6af73281f137be3b8a54e35f0734d',2034);
INSERT INTO evidence VALUES(1,'lock.json','stored',X'de7ee5ef755bd314e4cdd96a90f0eec8df311efd4afcc5c572359571664be1bd',1029);
INSERT INTO evidence VALUES(1,'result.json','stored',X'f5f69ccc6a2e390d3fbcd049821e3dc8d38386f8dba8f7b88eff4b7301f6a14d',3907);
INSERT INTO evidence VALUES(1,'verifier/reward.txt','stored',X'9a271f2a916b0b6ee6cecb2426f0b3206ef074578be55d9bc94f6f3fe3ab86aa',2);
INSERT INTO evidence VALUES(1,'verifier/test-stdout.txt','stored',X'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',0);
INSERT INTO evidence VALUES(2,'config.json','stored',X'70dd4e3504a956fa1abd5dff5d303e3176c19fe436962c06034e5b26f1b4517e',2036);
INSERT INTO evidence VALUES(2,'lock.json','stored',X'6aa895105bf5e96b49ad28d2fa7d486603ce752d5859d6713a90f3dcab09cf65',1031);
INSERT INTO evidence VALUES(2,'result.json','stored',X'cf46051ad04c851c8b061b84cf38159523e826a2c6ec197f1969f68f0c2a28c9',3913);
INSERT INTO evidence VALUES(2,'verifier/reward.txt','stored',X'4355a46b19d348dc2f57c046f8ef63d4538ebb936000f3c9ee954a27460dd865',2);
INSERT INTO evidence VALUES(2,'verifier/test-stdout.txt','stored',X'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',0);
INSERT INTO evidence VALUES(3,'config.json','stored',X'6d8cb80013dad793feb4f35397109b78e4aab7f0af85c298cc7956edd5e4c73c',2036);
INSERT INTO evidence VALUES(3,'exception.txt','stored',X'02ccb23377a4815adedbef48934eec671dac287dc91a1fad875a8cb45a4ea770',1716);
INSERT INTO evidence VALUES(3,'lock.json','stored',X'd35a9b278e61ae242049cb74251f8c1f3dec415c93514e8ba0edb02d0da49bdc',1031);
INSERT INTO evidence VALUES(3,'result.json','stored',X'bd182343dbf84f4464736cebed5a8ba2cac1acab270b8cdceda6fc6e1a771dad',6059);
INSERT INTO evidence VALUES(3,'verifier/test-stdout.txt','stored',X'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',0);
CREATE TABLE packs (
    pack INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    size INTEGER NOT NULL
) STRICT;
INSERT INTO packs VALUES(1,'18ec4f64c080ab13-9e8-0.pack',8810);
CREATE TABLE blobs (
    digest BLOB PRIMARY KEY,
    pack INTEGER NOT NULL REFERENCES packs (pack),
    start INTEGER NOT NULL,
    length INTEGER NOT NULL,
    size INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO blobs VALUES(X'02ccb23377a4815adedbef48934eec671dac287dc91a1fad875a8cb45a4ea770',1,8238,516,1716);
INSERT INTO blobs VALUES(X'4355a46b19d348dc2f57c046f8ef63d4538ebb936000f3c9ee954a27460dd865',1,5143,2,2);
INSERT INTO blobs VALUES(X'6aa895105bf5e96b49ad28d2fa7d486603ce752d5859d6713a90f3dcab09cf65',1,4603,484,1031);
INSERT INTO blobs VALUES(X'6d8cb80013dad793feb4f35397109b78e4aab7f0af85c298cc7956edd5e4c73c',1,6962,682,2036);
INSERT INTO blobs VALUES(X'70dd4e3504a956fa1abd5dff5d303e3176c19fe436962c06034e5b26f1b4517e',1,3865,682,2036);
INSERT INTO blobs VALUES(X'808373178c185dfcf99f5e208e6d223421a6af73281f137be3b8a54e35f0734d',1,1241,680,2034);
INSERT INTO blobs VALUES(X'9a271f2a916b0b6ee6cecb2426f0b3206ef074578be55d9bc94f6f3fe3ab86aa',1,2515,2,2);
INSERT INTO blobs VALUES(X'bd182343dbf84f4464736cebed5a8ba2cac1acab270b8cdceda6fc6e1a771dad',1,5201,1705,6059);
INSERT INTO blobs VALUES(X'cf46051ad04c851c8b061b84cf38159523e826a2c6ec197f1969f68f0c2a28c9',1,2629,1180,3913);
INSERT INTO blobs VALUES(X'd35a9b278e61ae242049cb74251f8c1f3dec415c93514e8ba0edb02d0da49bdc',1,7700,482,1031);
INSERT INTO blobs VALUES(X'de7ee5ef755bd314e4cdd96a90f0eec8df311efd4afcc5c572359571664be1bd',1,1977,482,1029);
INSERT INTO blobs VALUES(X'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',1,2573,0,0);
INSERT INTO blobs VALUES(X'f5f69ccc6a2e390d3fbcd049821e3dc8d38386f8dba8f7b88eff4b7301f6a14d',1,0,1185,3907);
CREATE TABLE seen (
    path BLOB PRIMARY KEY,
    stamp BLOB NOT NULL,
    trial INTEGER REFERENCES trials (trial) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
CREATE INDEX trials_by_job ON trials (job_key, status);
CREATE INDEX trials_by_name ON trials (trial_name);
CREATE INDEX trials_scores ON trials
    (agent_digest, task, status, failure, reward, cost_usd, seconds_total, task_digest, experiment);
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
COMMIT;
