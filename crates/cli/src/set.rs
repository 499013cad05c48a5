//! `--set NAME=VALUE`, wherever it is an option.

use std::collections::BTreeMap;
use taskwright_base::Error;

/// The values that were given, by name.
///
/// # Errors
/// What gives no value, and a name that is given twice.
pub fn parameters(set: &[String]) -> Result<BTreeMap<String, String>, Error> {
    let mut values = BTreeMap::new();
    for pair in set {
        let Some((name, value)) = pair.split_once('=') else {
            let error = Error::new(format!("`--set {pair}` gives no value"));
            return Err(error.hint("write `--set name=value`").usage());
        };
        if values.insert(name.to_owned(), value.to_owned()).is_some() {
            return Err(Error::new(format!("`--set {name}` is given twice")).usage());
        }
    }
    Ok(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_name_and_value() {
        assert_eq!(parameters(&["a=b=c".to_owned()]).unwrap()["a"], "b=c");
        for wrong in [&["a"][..], &["a=1", "a=2"]] {
            let wrong: Vec<_> = wrong.iter().map(|&pair| pair.to_owned()).collect();
            assert!(parameters(&wrong).unwrap_err().is_usage());
        }
    }
}
