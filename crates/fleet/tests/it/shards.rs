//! A fleet: machines that divide the tasks, one of which is killed.

use taskwright_testing::test;

use crate::child::SHARD;
use crate::support::Space;

#[test]
fn the_parts_and_then_the_whole_are_what_one_machine_builds_alone() {
    let space = Space::new(&["a", "b", "c", "d", "e"]);
    let alone = space.machine("alone");
    alone.build().well();

    let mut built = Vec::new();
    for part in 1..=3 {
        let machine = space.machine(&format!("part-{part}")).trusted().with(SHARD, &format!("{part}/3"));
        let said = machine.build().well();
        let names: Vec<_> = said.built().into_iter().map(str::to_owned).collect();
        // The lock that it came with says nothing yet, and nothing is added for what others build.
        assert_eq!(machine.lock().tasks.keys().cloned().collect::<Vec<_>>(), names);
        built.extend(names);
    }
    built.sort_unstable();
    assert_eq!(built, ["a", "b", "c", "d", "e"]);

    let whole = space.machine("whole");
    assert!(!whole.build().well().archived());
    assert_eq!(whole.lock_text(), alone.lock_text());
    assert!(whole.built() == alone.built());
}
