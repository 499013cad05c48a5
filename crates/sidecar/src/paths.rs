//! The paths of the sidecar's container, and the gateway's doors.

use std::path::{Path, PathBuf};

pub const PORT: u16 = 8700;
/// The optimizer's door, by the gateway's name in the optimizer's network.
pub const PRODUCER_DOOR: &str = "gateway-producer:8701";
/// The candidates' door.
pub const EVALUATION_DOOR: &str = "gateway-evaluation:8702";
/// The same as a candidate in the sandbox has it, which finds no names: wherever it connects to, it is connected to that door.
pub const SANDBOX_DOOR: &str = "127.0.0.1:8702";

/// The folders of the sidecar. Tests put them all under a folder of their own.
#[derive(Debug, Clone)]
pub struct Paths {
    /// What the image brings: the serve config, the baseline, the scorer and the dataset.
    pub image: PathBuf,
    /// The journal, the records and the candidates.
    pub state: PathBuf,
    /// What lasts no longer than the container: the socket, checkouts and sandboxes.
    pub runtime: PathBuf,
    pub evidence: PathBuf,
    /// What the gateway and the sidecar share.
    pub gateway: PathBuf,
    /// What the gateway and the optimizer share.
    pub producer: PathBuf,
}

impl Paths {
    /// The folders under a root; `/` in a container.
    pub fn under(root: &Path) -> Self {
        Self {
            image: root.join("taskwright"),
            state: root.join("var/lib/taskwright"),
            runtime: root.join("run/taskwright"),
            evidence: root.join("evidence"),
            gateway: root.join("run/taskwright-gateway"),
            producer: root.join("run/taskwright-models"),
        }
    }

    /// The socket through which the sidecar asks the gateway for tokens.
    pub fn gateway_socket(&self) -> PathBuf {
        self.gateway.join("control/socket")
    }

    /// The file with the optimizer's token.
    pub fn producer_token(&self) -> PathBuf {
        self.producer.join("token")
    }

    pub fn admin_folder(&self) -> PathBuf {
        self.runtime.join("admin")
    }

    /// The socket through which root asks for the verdict.
    pub fn socket(&self) -> PathBuf {
        self.admin_folder().join("socket")
    }

    /// The file that says which address the service listens on.
    pub fn address(&self) -> PathBuf {
        self.admin_folder().join("address")
    }
}
