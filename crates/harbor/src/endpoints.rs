//! Where agents would ask a language model, as `harbor run --dry-run` says it: a table for each agent, in the order of the
//! configuration, then one for the simulated user.

/// Where one agent would ask.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Endpoint {
    /// The address that Harbor gives it; none if the agent chooses by itself.
    pub address: Option<String>,
    /// The variable that its key is taken from; none if there is no such variable.
    pub key: Option<String>,
}

/// The first row of every table. Its title will not do: that is broken where an agent's name is long.
const FIRST: &str = "Parsed provider";
const GUESS: &str = "(best guess; not injected)";

/// Reads the tables.
pub fn read(said: &str) -> Vec<Endpoint> {
    let mut found: Vec<Endpoint> = Vec::new();
    let mut setting = "";
    for line in said.lines() {
        let mut cells = line.split(['\u{2502}', '|']).map(str::trim);
        let (Some(""), Some(name), Some(value)) = (cells.next(), cells.next(), cells.next()) else {
            continue;
        };
        // The second and further lines of a cell have no name beside them.
        setting = if name.is_empty() { setting } else { name };
        if name == FIRST {
            found.push(Endpoint::default());
        }
        let Some(endpoint) = found.last_mut() else { continue };
        match setting {
            "Endpoint" if value.starts_with("http") && !value.ends_with(GUESS) => {
                endpoint.address = Some(value.to_owned());
            }
            "API key precedence" => {
                if let Some((before, rest)) = value.split_once(" \u{2014} ")
                    && rest.starts_with("selected")
                {
                    endpoint.key = before.rsplit(' ').next().map(str::to_owned);
                }
            }
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use taskwright_testing::test;

    const SAID: &str = "\
                      claude-code agent auth resolution (dry run)
┏━━━━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━┓
┃ Setting             ┃ Value                          ┃
┡━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━┩
│ Parsed provider     │ anthropic                      │
├─────────────────────┼────────────────────────────────┤
│ Endpoint            │ http://172.17.0.1:9            │
├─────────────────────┼────────────────────────────────┤
│ API key precedence  │ 1. --api-key-name — not set    │
│                     │ 2. ambient A_KEY — not set     │
│                     │ 3. --ae B_KEY — selected (***) │
├─────────────────────┼────────────────────────────────┤
│ Base URL precedence │ 1. ambient C — selected (http) │
└─────────────────────┴────────────────────────────────┘
       oracle agent auth resolution (dry run)
│ Parsed provider     │ Not resolved                │
│ Endpoint            │ Agent/SDK default (unknown) │
  a.package.of.ones.own:WithALongName agent auth resolution
                           (dry run)
│ Parsed provider     │ openai                                               │
│ Endpoint            │ https://api.openai.com/v1 (best guess; not injected) │
Dry run OK — 6 trial(s); nothing was run.
";

    #[test]
    fn each_agent_has_its_own() {
        let is = |address: Option<&str>, key: Option<&str>| Endpoint {
            address: address.map(str::to_owned),
            key: key.map(str::to_owned),
        };
        assert_eq!(
            read(SAID),
            [is(Some("http://172.17.0.1:9"), Some("B_KEY")), is(None, None), is(None, None)]
        );
        assert_eq!(read("Dry run OK"), []);
    }
}
