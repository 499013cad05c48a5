//! Rewards in every shape that was met.

use super::*;

fn rewards(keys: &[(&str, f64)]) -> Rewards {
    Rewards::Keys(keys.iter().map(|(key, value)| ((*key).to_owned(), Reward::of(*value))).collect())
}

#[test]
fn the_one_that_counts() {
    let chosen = |keys: &[(&str, f64)], key| {
        rewards(keys)
            .choose(key)
            .map(|chosen| (chosen.key.to_owned(), chosen.value))
            .map_err(|error| error.to_string())
    };
    let some = |key: &str, value| Ok((key.to_owned(), value));
    assert_eq!(chosen(&[("a", 1.0), ("reward", 2.0), ("pass", 3.0)], None), some("reward", 2.0));
    assert_eq!(chosen(&[("a", 1.0), ("pass", 3.0)], None), some("pass", 3.0));
    assert_eq!(chosen(&[("a", 1.0)], None), some("a", 1.0));
    assert_eq!(chosen(&[("a", 1.0), ("reward", 2.0)], Some("a")), some("a", 1.0));
    assert_eq!(
        chosen(&[("b", 1.0), ("a", 2.0)], None).unwrap_err(),
        "it is unclear which reward counts: the verifier reported `a`, `b`; name one with `reward_key`"
    );
    // A key that was asked for is never exchanged for another.
    assert_eq!(
        chosen(&[("reward", 1.0), ("x\n", 1.0)], Some("rewrd")).unwrap_err(),
        "the verifier reported no `rewrd`; it reported `reward`, `x\\n`"
    );
    assert!(chosen(&[], Some("a")).unwrap_err().contains("empty"));
    assert!(
        chosen(&[("reward", f64::NAN), ("pass", 1.0)], None).unwrap_err().contains("`reward` is not finite")
    );
    let many: Vec<_> = (0..100).map(|n| (format!("k{n:02}"), 1.0)).collect();
    let many: Vec<_> = many.iter().map(|(key, value)| (key.as_str(), *value)).collect();
    assert!(chosen(&many, None).unwrap_err().contains("`k11` and 88 more"));
}

/// What Harbor makes of each of these files is in its own tests and in the real jobs of the corpus.
#[test]
fn files_are_read_as_harbor_reads_them() {
    let folder = tempfile::tempdir().unwrap();
    let verifier = folder.path().join("verifier");
    std::fs::create_dir(&verifier).unwrap();
    let read = |name: &str, content: &[u8]| {
        let path = verifier.join(name);
        std::fs::write(&path, content).unwrap();
        let read = read_files(folder.path());
        std::fs::remove_file(&path).unwrap();
        read.map(|file| file.unwrap().rewards.choose(None).map(|chosen| chosen.value))
    };
    for (content, value) in [("1", 1.0), (" 0.5 \n", 0.5), ("-3.5", -3.5), ("1e-3", 0.001), ("1_0", 10.0)] {
        assert_eq!(read("reward.txt", content.as_bytes()).unwrap(), Ok(value), "{content}");
    }
    for content in ["1\n2", "junk", "nan", "inf", "_1", "1__0", "1_"] {
        assert!(
            matches!(read("reward.txt", content.as_bytes()).unwrap(), Err(RewardError::Invalid { .. })),
            "{content}"
        );
    }
    assert!(read("reward.txt", b"").unwrap_err().to_string().contains("reward.txt` is empty"));
    assert!(read("reward.txt", b"\xff").is_err());
    for (content, value) in [
        (r#"{"reward": 0.25, "speed": 3}"#, Ok(0.25)),
        (r#"{"reward": true}"#, Ok(1.0)),
        (r#"{"score": 7}"#, Ok(7.0)),
        ("{}", Err(RewardError::Empty)),
        ("1", Err(RewardError::NotAMap("a single number"))),
    ] {
        assert_eq!(read("reward.json", content.as_bytes()).unwrap(), value, "{content}");
    }
    for content in [r#"{"reward": NaN}"#, r#"{"reward": null}"#, r#"{"reward": "1"}"#, r#"{"reward": [1]}"#] {
        assert!(
            matches!(read("reward.json", content.as_bytes()).unwrap(), Err(RewardError::Invalid { .. })),
            "{content}"
        );
    }
    assert!(read("reward.json", b"{\"reward\": ").is_err());
    std::fs::write(verifier.join("reward.txt"), "0.75").unwrap();
    assert_eq!(read("reward.json", br#"{"reward": 0.5}"#).unwrap(), Ok(0.5));
    assert_eq!(read_files(folder.path()).unwrap().unwrap().path, "verifier/reward.txt");
    std::fs::remove_dir_all(&verifier).unwrap();
    assert_eq!(read_files(folder.path()).unwrap(), None);
}
