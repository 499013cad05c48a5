//! Harbor as an image brings it, with a candidate's package beside it in an environment of its own.
//!
//! Harbor's own environment belongs to root and comes first, so that nothing a candidate installs takes its place. The
//! candidate's is made by whoever runs it: building a package already runs code of its author.

use std::ffi::OsString;
use std::path::PathBuf;

/// Installs the candidate once and then becomes the program; the arguments are Harbor's environment, the versions of its
/// packages, uv's cache, the package and the path of its environment, then the program's own.
///
/// The cache holds what the baseline needs, so that no network is asked if the candidate needs no more than that.
const SCRIPT: &str = r#"set -eu
harbor=$1 requirements=$2 cache=$3 package=$4 path=$5
shift 5
if [ ! -e "$path/ready" ]; then
  rm -rf "$path"
  mkdir -p "$path"
  cp -r "$cache" "$path/cache"
  export UV_CACHE_DIR="$path/cache"
  uv venv --quiet --python "$harbor/bin/python" "$path/venv"
  install() {
    uv pip install --quiet "$@" --constraints "$requirements" --python "$path/venv/bin/python" "$package"
  }
  install --offline 2>/dev/null || install
  : > "$path/ready"
fi
for packages in "$harbor"/lib/python*/site-packages; do
  export PYTHONPATH="$packages"
done
exec "$path/venv/bin/python" -P "$@"
"#;

/// Harbor as an image brings it, with a candidate's package beside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BesideLauncher {
    /// Arguments before the command: what changes the user, say.
    pub before: Vec<OsString>,
    /// Harbor's virtual environment.
    pub harbor: PathBuf,
    /// The file with the version of each package in it, of which a candidate may want no other one.
    pub requirements: PathBuf,
    /// A cache of uv's that is copied, never written.
    pub cache: PathBuf,
    /// The folder of the candidate's package; without one there is Harbor alone.
    pub package: Option<PathBuf>,
    /// Where the candidate's environment is made. It is made once: give each content a path of its own.
    pub path: PathBuf,
}

impl BesideLauncher {
    /// The command line that runs Python in that environment.
    pub fn command_line(&self, arguments: &[&str]) -> Vec<OsString> {
        let mut line = self.before.clone();
        match &self.package {
            Some(package) => {
                line.extend(["/bin/sh", "-c", SCRIPT, "taskwright"].map(Into::into));
                line.extend(
                    [&self.harbor, &self.requirements, &self.cache, package, &self.path]
                        .map(|path| path.clone().into()),
                );
            }
            None => {
                line.push(self.harbor.join("bin/python").into());
                line.push("-P".into());
            }
        }
        line.extend(arguments.iter().map(Into::into));
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use taskwright_testing::test;

    fn launcher() -> BesideLauncher {
        BesideLauncher {
            before: vec!["setpriv".into(), "--reuid=1".into()],
            harbor: "/opt/harbor".into(),
            requirements: "/opt/requirements.txt".into(),
            cache: "/opt/uv-cache".into(),
            package: Some("/candidate".into()),
            path: "/path".into(),
        }
    }

    #[test]
    fn the_candidate_is_installed_first() {
        let line = launcher().command_line(&["-m", "harbor.cli.main"]);
        assert_eq!(line[..4], ["setpriv", "--reuid=1", "/bin/sh", "-c"]);
        assert_eq!(line[5..8], ["taskwright", "/opt/harbor", "/opt/requirements.txt"]);
        assert_eq!(line[8..], ["/opt/uv-cache", "/candidate", "/path", "-m", "harbor.cli.main"]);
    }

    #[test]
    fn without_a_candidate_there_is_harbor_alone() {
        let alone = BesideLauncher { package: None, ..launcher() };
        let expected = ["setpriv", "--reuid=1", "/opt/harbor/bin/python", "-P", "-c", "pass"];
        assert_eq!(alone.command_line(&["-c", "pass"]), expected);
    }
}
