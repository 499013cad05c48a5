//! What YAML is read as.

use super::{Map, Value, read};

fn value(text: &str) -> Value {
    read(&format!("key: {text}")).unwrap().get("key").unwrap().node.value.clone()
}

#[test]
fn plain_scalars_mean_what_yaml_1_1_says() {
    let text = |text: &str| Value::Text(text.to_owned());
    for (written, meant) in [
        ("yes", Value::Bool(true)),
        ("off", Value::Bool(false)),
        ("y", text("y")),
        ("~", Value::Null),
        ("12", Value::Integer(12)),
        ("1_000", Value::Integer(1000)),
        ("0o17", text("0o17")),
        ("017", Value::Integer(15)),
        ("0x1F", Value::Integer(31)),
        ("0b101", Value::Integer(5)),
        ("1:30", Value::Integer(90)),
        ("-5", Value::Integer(-5)),
        ("09", text("09")),
        ("1e3", text("1e3")),
        ("1.5e3", text("1.5e3")),
        ("1.5e+3", Value::Float(1500.0)),
        ("0.25", Value::Float(0.25)),
        (".5", Value::Float(0.5)),
        ("3.12", Value::Float(3.12)),
        ("\"3.12\"", text("3.12")),
        ("'no'", text("no")),
        ("!!str 5", text("5")),
        ("2000000000", Value::Integer(2_000_000_000)),
        ("modal", text("modal")),
    ] {
        assert_eq!(value(written), meant, "{written}");
    }
}

fn keys(map: &Map) -> Vec<(&str, u64)> {
    map.0.iter().map(|entry| (entry.key.as_str(), entry.line)).collect()
}

#[test]
fn aliases_and_merge_keys_resolve_where_they_stand() {
    let map = read("base: &base\n  a: 1\n  b: 2\nmore:\n  <<: *base\n  b: 3\nsame: *base\n").unwrap();
    let Value::Map(more) = &map.get("more").unwrap().node.value else { panic!("a mapping") };
    assert_eq!(keys(more), [("b", 6), ("a", 2)]);
    assert_eq!(more.get("b").unwrap().node.value, Value::Integer(3));
    assert_eq!(more.get("a").unwrap().path, "more.a");
    let Value::Map(same) = &map.get("same").unwrap().node.value else { panic!("a mapping") };
    assert_eq!(same.get("b").unwrap().node.value, Value::Integer(2));
}

#[test]
fn a_comment_belongs_to_the_key_below_or_beside_it() {
    let map = read("# first\n\n# second\na: 1  # beside\nlist: # of two\n  - x # one\n  # above two\n  - y\nb: 2\n# last\n").unwrap();
    let of = |key: &str| map.get(key).unwrap().comments.clone();
    assert_eq!(of("a"), ["first", "second", "beside"]);
    assert_eq!(of("list"), ["of two", "one", "above two"]);
    assert_eq!(of("b"), ["last"]);
}

#[test]
fn mistakes_are_shown_where_they_stand() {
    for (text, at, said) in [
        ("a: 1\nb: 2\na: 3\n", (3, 1), "`a` stands here and on line 1"),
        ("a: [1, 2\n", (2, 1), ""),
        ("- 1\n", (1, 1), "the file is a list, not a mapping"),
        ("", (1, 1), "the file says nothing"),
        ("a: 1\n---\nb: 2\n", (2, 1), "the file holds a second document"),
        ("a: !own 1\n", (1, 9), "`!own` is a tag, and only `!!str` has a meaning here"),
        ("a: 99999999999999999999\n", (1, 4), "`99999999999999999999` is more than a whole number can be"),
        ("a: .inf\n", (1, 4), "`.inf` is no number to count with"),
        ("a:\n  <<: 1\n", (2, 7), "`<<` takes a mapping, and this is a whole number"),
        ("? [1]\n: 2\n", (1, 3), "a key must be a text"),
    ] {
        let fault = read(text).unwrap_err();
        if said.is_empty() {
            assert!(!fault.message.is_empty());
        } else {
            assert_eq!((fault.at, fault.message.as_str()), (at, said), "{text}");
        }
    }
}

#[test]
fn aliases_of_aliases_do_not_fill_the_memory() {
    let mut text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..12 {
        let below = level - 1;
        let items = vec![format!("*a{below}"); 10].join(", ");
        text.push_str(&format!("a{level}: &a{level} [{items}]\n"));
    }
    assert_eq!(read(&text).unwrap_err().message, "the file comes to more than 100000 values");
}
