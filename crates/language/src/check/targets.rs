//! Targets: that they can be scored, and that the optimizer could not have seen them.

use std::collections::{BTreeMap, BTreeSet};

use super::rules::at_least_one;
use super::{Context, splits};
use crate::model::{Access, Samples, Target};
use taskwright_base::text::{nearest, one_of};

pub fn check(context: &mut Context<'_>) {
    let spec = context.spec;
    if spec.targets.is_empty() {
        context.error(&["targets"], "there is no target", "add one: `[[targets]]` with its `split`");
    }
    let mut keys: BTreeMap<&str, String> = BTreeMap::new();
    for (index, target) in spec.targets.iter().enumerate() {
        let index = index.to_string();
        let path = ["targets", index.as_str()];
        split(context, &path, target);
        samples(context, &path, target);
        let key = target.reward_key.as_str();
        if key.trim().is_empty() || key.contains(char::is_control) {
            context.error(
                &[path[0], path[1], "reward_key"],
                format!("`{}` cannot be the key of a reward", key.escape_debug()),
                "for example \"reward\"",
            );
        } else if let Some(first) = keys.insert(key, index.clone()) {
            context.error_with(
                &[path[0], path[1], "reward_key"],
                format!("two targets have the reward key `{key}`"),
                "give each a key of its own: in reward.json one would overwrite the other",
                (&["targets", &first, "reward_key"], "first here"),
            );
        }
        at_least_one(context, &[path[0], path[1], "attempts"], target.attempts, "1 scores each sample once");
        at_least_one(
            context,
            &[path[0], path[1], "max_attempts"],
            target.max_attempts,
            "1 tries the target once",
        );
    }
}

fn split(context: &mut Context<'_>, path: &[&str; 2], target: &Target) {
    let spec = context.spec;
    let place = [path[0], path[1], "split"];
    let Some(split) = spec.splits.get(&target.split) else {
        if spec.splits.is_empty() || !context.trusts("splits") {
            return;
        }
        let known: Vec<&str> = spec.splits.keys().map(String::as_str).collect();
        let hint = match nearest(&target.split, known.iter().copied()) {
            Some(near) => format!("did you mean `{near}`? it can be {}", one_of(known)),
            None => format!("it can be {}", one_of(known)),
        };
        context.error(&place, format!("there is no split `{}`", target.split.escape_debug()), hint);
        return;
    };
    let access_path = ["splits", target.split.as_str(), "access"];
    match split.access {
        Access::NoAccess => {}
        Access::Viewable => context.error_with(
            &place,
            format!("the optimizer may read the results of `{}`, so it cannot be a target", target.split),
            "score a split that it cannot see: `access = \"no_access\"`",
            (&access_path, "viewable"),
        ),
        Access::NonViewable => context.warning(
            &place,
            format!("the optimizer may evaluate `{}`, so its reward can be fitted to", target.split),
            "a target is best held out: `access = \"no_access\"`",
        ),
    }
}

fn samples(context: &mut Context<'_>, path: &[&str; 2], target: &Target) {
    let Samples::List(ids) = &target.samples else { return };
    let place = [path[0], path[1], "samples"];
    splits::list(context, &place, ids);
    let Some(Samples::List(all)) = context.spec.splits.get(&target.split).map(|split| &split.samples) else {
        return;
    };
    let all: BTreeSet<&str> = all.iter().map(String::as_str).collect();
    for (index, id) in ids.iter().enumerate().filter(|(_, id)| !all.contains(id.as_str())) {
        let hint = match nearest(id, all.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "a target scores samples of its split, or all of them".to_owned(),
        };
        context.error(
            &[place[0], place[1], place[2], &index.to_string()],
            format!("the split `{}` has no sample `{}`", target.split, id.escape_debug()),
            hint,
        );
    }
}
