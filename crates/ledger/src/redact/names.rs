//! Names under which secrets stand, quickly told from most others.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;
use taskwright_harbor::secret_names::WORDS;
pub use taskwright_harbor::secret_names::is_sensitive;

/// Whether a name, as JSON writes it, holds a word that matters, or an escaped letter. Most hold neither, and need not be
/// taken apart.
pub fn may_be_sensitive(name: &[u8]) -> bool {
    static FIRST: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
        AhoCorasick::builder().ascii_case_insensitive(true).build(WORDS.iter().chain(&["key"])).ok()
    });
    name.contains(&b'\\') || FIRST.as_ref().is_none_or(|words| words.is_match(name))
}
