//! The wire formats of the public language models: paths, dialects, and how each says that something is wrong.

pub mod refusal;
pub mod route;

use taskwright_base::words;

words! {
    /// In whose words a client is answered.
    Dialect {
        /// OpenAI's, and whatever follows it.
        OpenAi = "openai",
        /// Anthropic's.
        Anthropic = "anthropic",
        /// Google's.
        Gemini = "gemini",
    }
}

words! {
    /// What is called, which decides what usage looks like.
    Wire {
        /// `chat/completions`.
        Chat = "chat/completions",
        /// `responses`.
        Responses = "responses",
        /// `embeddings`.
        Embeddings = "embeddings",
        /// `messages`.
        Messages = "messages",
        /// `models/...:generateContent` and its stream.
        Gemini = "generateContent",
    }
}

impl Wire {
    /// In whose words its clients are answered.
    pub fn dialect(self) -> Dialect {
        match self {
            Self::Chat | Self::Responses | Self::Embeddings => Dialect::OpenAi,
            Self::Messages => Dialect::Anthropic,
            Self::Gemini => Dialect::Gemini,
        }
    }
}
