//! Scratch.
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let mut set = std::collections::BTreeMap::new();
    for kv in a.iter().skip(3) {
        let (k, v) = kv.split_once('=').unwrap();
        set.insert(k.to_string(), v.to_string());
    }
    match taskwright_spec::load(a[1].as_str().into(), a[2].as_str().into(), &set) {
        Ok(l) => {
            println!("{}", l.warnings);
            for t in &l.tasks {
                println!("OK {} {:?}", t.spec.name, t.spec.baseline.path);
            }
            println!("{:?}", l.files);
        }
        Err(d) => {
            println!("{d}");
            println!("{:?}", d.files());
        }
    }
}
