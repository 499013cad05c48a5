//! Enumerations whose values have one word each: in JSON, in databases, on the command line and in messages.

/// Makes an enumeration whose values have one word each.
///
/// ```
/// taskwright_base::words! {
///     /// How much came of it.
///     Status {
///         /// All.
///         Complete = "complete",
///         /// Some.
///         Partial = "partial",
///     }
/// }
///
/// assert_eq!("partial".parse(), Ok(Status::Partial));
/// assert_eq!(Status::Complete.to_string(), Status::ALL[0].word());
/// assert_eq!("none".parse::<Status>().unwrap_err(), "`none` is none of: complete, partial");
/// ```
#[macro_export]
macro_rules! words {
    ($(#[$meta:meta])* $name:ident { $($(#[$variant_meta:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, ::serde::Serialize, ::serde::Deserialize)]
        pub enum $name {
            $($(#[$variant_meta])* #[serde(rename = $word)] $variant,)+
        }

        impl $name {
            /// All of them, in order.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// The word for it.
            #[must_use]
            pub fn word(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }
        }

        impl ::std::str::FromStr for $name {
            type Err = ::std::string::String;

            fn from_str(word: &str) -> ::std::result::Result<Self, Self::Err> {
                match word {
                    $($word => Ok(Self::$variant),)+
                    _ => {
                        let words: ::std::vec::Vec<&str> = Self::ALL.iter().map(|one| one.word()).collect();
                        Err(::std::format!("`{word}` is none of: {}", words.join(", ")))
                    }
                }
            }
        }

        impl ::std::fmt::Display for $name {
            fn fmt(&self, formatter: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                formatter.pad(self.word())
            }
        }
    };
}
