//! Scratch.
fn main() {
    let v: toml::Value = toml::from_str::<toml::Value>("a = 2026-01-01\n").unwrap();
    let t = <toml::Value as serde::Deserialize>::deserialize(v.clone()).unwrap();
    println!("{v:?} {t:?}");
}
