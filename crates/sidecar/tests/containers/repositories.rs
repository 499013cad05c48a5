//! Hostile repositories: whatever they hold, the sidecar is not moved by it.

use taskwright_testing::test;

use crate::stage::Stage;
use crate::task::HONEST;

const COMMIT: &str = "git -c user.name=a -c user.email=a@b commit -qm hostile";

/// Makes a commit with a file of 5 GiB of zeros, object by object, and uploads it.
const HUGE: &str = include_str!("huge.py");

fn refused(stage: &Stage, script: &str, words: &str) {
    let ran = stage.agent(&format!("set -e; git reset -q --hard start; git clean -qfdx; {script}"));
    assert_eq!(ran.status, 0, "{script}: {}", ran.err);
    let ran = stage.agent("taskwright eval --split train --samples 1");
    assert!(matches!(ran.status, 2 | 3), "{script}: status {}: {} {}", ran.status, ran.out, ran.err);
    assert!(ran.err.contains(words), "{script}: {}", ran.err);
    stage.agent("git reset -q --hard start");
}

#[test]
fn hostile_repositories_are_refused_or_harmless() {
    let stage = Stage::set();
    stage.agent("git tag start");
    refused(&stage, &format!("echo changed > keep.txt; git add -A; {COMMIT}"), "read-only");
    refused(&stage, &format!("git rm -q keep.txt; {COMMIT}"), "read-only");
    refused(&stage, &format!("ln -s /taskwright/serve.json out; git add -A; {COMMIT}"), "`out`");
    refused(
        &stage,
        &format!("git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),sub; {COMMIT}"),
        "`sub`",
    );
    refused(&stage, &format!("head -c 20000000 /dev/urandom > big; git add -A; {COMMIT}"), "");
    // A blob that is small as it is sent and large as it is.
    refused(&stage, &format!("truncate -s 300M zeros; git add -A; {COMMIT}"), "");
    // Five gigabytes in a pack of five megabytes.
    stage.write("/tmp/huge.py", HUGE);
    let ran = stage.agent("git reset -q --hard start; python3 /tmp/huge.py $(git rev-parse HEAD)");
    assert!(ran.out.contains("422") || ran.out.contains("413"), "{} {}", ran.out, ran.err);
    assert!(ran.out.contains("an object of 5120 MiB"), "{} {}", ran.out, ran.err);
    // A tree of trees: a million files in a few objects.
    let bomb = "t=$(git mktree < /dev/null); b=$(echo x | git hash-object -w --stdin); \
        t=$(for i in $(seq 100); do printf '100644 blob %s\\tf%s\\n' $b $i; done | git mktree); \
        for level in 1 2; do t=$(for i in $(seq 100); do printf '040000 tree %s\\td%s\\n' $t $i; done | git mktree); done; \
        c=$(git -c user.name=a -c user.email=a@b commit-tree $t -p HEAD -m bomb); git update-ref HEAD $c";
    refused(&stage, bomb, "the number of files and folders");
    let names = "b=$(echo x | git hash-object -w --stdin); \
        t=$(printf '100644 blob %s\\t.git\\n' $b | git mktree); \
        t=$(printf '040000 tree %s\\tfolder\\n' $t | git mktree); \
        c=$(git -c user.name=a -c user.email=a@b commit-tree $t -p HEAD -m names); git update-ref HEAD $c";
    refused(&stage, names, "");

    // Hooks, configuration, attributes, alternates and replacements are the optimizer's own and reach nobody.
    stage.agent(
        "git reset -q --hard start; printf '#!/bin/sh\\ntouch /tmp/hooked\\n' > .git/hooks/post-checkout; \
         chmod +x .git/hooks/post-checkout; git config core.fsmonitor 'touch /tmp/monitored'; \
         git config filter.evil.smudge 'touch /tmp/smudged'; echo '* filter=evil export-subst ident' > .gitattributes; \
         echo '[core]' > .gitmodules",
    );
    stage.write("main.py", &format!("# $Id$ $Format:%H$\n{HONEST}"));
    let ran = stage.agent(&format!("git config --unset core.fsmonitor; git add -A; {COMMIT}"));
    assert_eq!(ran.status, 0, "{}", ran.err);
    let evaluation = stage.agent("taskwright eval --split train --json");
    if evaluation.status == 0 {
        assert!(evaluation.out.contains("\"score\":1.0"), "{}", evaluation.out);
    } else {
        assert!(evaluation.err.contains(".gitmodules"), "{}", evaluation.err);
    }
    let touched = stage.in_sidecar("ls /tmp/hooked /tmp/monitored /tmp/smudged 2>/dev/null");
    assert_eq!(touched.out, "");
}

#[test]
fn broken_uploads_are_refused() {
    let stage = Stage::set();
    stage.commit(HONEST);
    let put = |body: &str| {
        let script = format!(
            "c=$(git rev-parse HEAD); {body} > /tmp/body; python3 - $c <<'X'\nimport sys, urllib.request as r\n\
             try:\n    a = r.urlopen(r.Request('http://eval-sidecar:8700/v1/candidates/' + sys.argv[1], data=open('/tmp/body', 'rb').read(), method='PUT'))\n    print(a.status)\n\
             except Exception as e:\n    print(getattr(e, 'code', e))\nX"
        );
        stage.agent(&script).out.trim().to_owned()
    };
    let pack = "printf \"%s\\n^%s~1\\n\" $c $c | git pack-objects --revs --stdout -q";
    assert_eq!(put("printf ''"), "400");
    assert_eq!(put("printf PACKgarbage"), "400");
    assert_eq!(put(&format!("{pack} | head -c -10")), "400");
    assert_eq!(put(&format!("{pack} | tr a b")), "400");
    assert_eq!(put("printf \"%s~1\\n\" $c | git pack-objects --revs --stdout -q"), "400");
    assert_eq!(put("head -c 12000000 /dev/zero"), "413");
    assert_eq!(put(pack), "201");
    assert_eq!(stage.taskwright("eval --split train", 0)["score"], 1.0);
}
