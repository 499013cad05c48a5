//! What only root in the sidecar may ask: finalizing and archiving, over a unix socket.
//!
//! ```text
//!   taskwright finalize (ask) ──socket── the server (listen) ──▶ finalize
//!                       └── no server: opens the state itself ──────┘
//! ```

pub mod ask;
pub mod listen;
pub mod protocol;
