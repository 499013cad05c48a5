//! Finds a door of the gateway by the name that it has in a network of the engine's.

use std::net::{SocketAddr, ToSocketAddrs};
use std::time::{Duration, Instant};

use taskwright_base::{Error, Result};

/// How long the engine may take to give the container its names.
const NAMES: Duration = Duration::from_secs(20);

/// The address of a door, once the engine has given it.
pub fn address(door: &str) -> Result<SocketAddr> {
    let began = Instant::now();
    loop {
        let why = match door.to_socket_addrs() {
            Ok(mut found) => match found.find(SocketAddr::is_ipv4) {
                Some(address) => return Ok(address),
                None => "it has no address".to_owned(),
            },
            Err(error) => error.to_string(),
        };
        if began.elapsed() > NAMES {
            return Err(Error::new(format!("finding the door `{door}`: {why}"))
                .hint("the container's networks give it that name: docker-compose.yaml names them"));
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}
