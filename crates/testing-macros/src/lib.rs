//! The attribute `#[test]` of `taskwright-testing`, which says what it is for.

use proc_macro::{TokenStream, TokenTree};

/// Takes a function without arguments into the tests that `taskwright_testing::main` runs.
///
/// # Panics
/// When it stands before something else, which the compiler then says.
#[proc_macro_attribute]
pub fn test(_: TokenStream, function: TokenStream) -> TokenStream {
    let is_fn = |word: &TokenTree| word.to_string() == "fn";
    let name = function.clone().into_iter().skip_while(|word| !is_fn(word)).nth(1);
    let name = name.expect("`#[test]` stands before a function").to_string();
    let entry = format!(
        "::taskwright_testing::inventory::submit! {{
            ::taskwright_testing::Test {{ module: module_path!(), name: {name:?}, run: {name} }}
        }}"
    );
    let entry: TokenStream = entry.parse().expect("a macro's call");
    [function, entry].into_iter().collect()
}
