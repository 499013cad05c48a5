//! What a sidecar's container holds: the serve config of its image, and the service on its state.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;

use serde_json::Value;
use taskwright_base::{Digest, Error, Result, failed};
use taskwright_language::serve::{SERVE_VERSION, ServeConfig};

use crate::admin::protocol::{Request, Tell};
use crate::api::Candidate;
use crate::paths::Paths;
use crate::service::{self, OpenError, Service};
use crate::{evaluator, finalize};

/// What there is to serve.
pub enum Opened {
    Intact(Arc<Service>),
    /// A state that cannot be believed: nothing is served, and the only verdict is that there can be none.
    Damaged {
        config: Box<ServeConfig>,
        digest: String,
        why: String,
    },
}

impl Opened {
    pub fn act(&self, paths: &Paths, request: Request, tell: Tell<'_>) -> Result<Value> {
        match (self, request) {
            (Self::Intact(service), Request::Finalize) => finalize::finalize(service, paths, tell),
            (Self::Intact(service), Request::Archive) => finalize::archive(service, paths, tell),
            (Self::Damaged { config, digest, why }, _) => finalize::give_up(config, digest, why, paths, tell),
        }
    }
}

pub fn open(paths: &Paths) -> Result<Opened> {
    let (config, digest) = read_config(paths)?;
    for folder in [&paths.state, &paths.runtime] {
        fs::create_dir_all(folder).map_err(failed("making", folder))?;
    }
    // Budgets, results and candidates are nobody else's to read.
    fs::set_permissions(&paths.state, Permissions::from_mode(0o700))
        .map_err(failed("closing", &paths.state))?;
    let runner = evaluator::open(&config, paths)?;
    let baseline = Candidate { commit: config.baseline.commit.clone(), tree: config.baseline.tree.clone() };
    let service = match service::open(config.clone(), digest.clone(), &paths.state, Box::new(runner)) {
        Ok(service) => service,
        Err(error @ OpenError::Damaged(_)) => {
            return Ok(Opened::Damaged { config: Box::new(config), digest, why: error.to_string() });
        }
        Err(OpenError::Failed(error)) => return Err(error),
    };
    service.know(&baseline)?;
    Ok(Opened::Intact(Arc::new(service)))
}

fn read_config(paths: &Paths) -> Result<(ServeConfig, String)> {
    let path = paths.image.join("serve.json");
    let text = fs::read(&path).map_err(failed("reading", &path))?;
    let config: ServeConfig = serde_json::from_slice(&text)
        .map_err(|error| Error::new(format!("`{}` is not a serve config: {error}", path.display())))?;
    if config.serve_version != SERVE_VERSION {
        return Err(Error::new(format!(
            "`{}` has version {}, and this program reads version {SERVE_VERSION}: build the task again",
            path.display(),
            config.serve_version
        )));
    }
    Ok((config, Digest::of(&text).to_string()))
}
