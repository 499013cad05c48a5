//! What of an evaluation is left to be done.

use taskwright_testing::test;

use super::*;
use crate::attempts::{Attempt, Attempts};

fn sample(attempts: &[Option<ErrorClass>]) -> SampleResult {
    let list = attempts
        .iter()
        .map(|class| Attempt { class: *class, reward: class.is_none().then_some(0.0), ..Attempt::default() })
        .collect();
    SampleResult {
        attempts: Some(Box::new(Attempts { list, ..Attempts::default() })),
        ..SampleResult::without_value("one", ErrorClass::Infrastructure, "")
    }
}

#[test]
fn what_we_failed_is_left_and_what_the_candidate_failed_is_not() {
    use ErrorClass::{Budget, Candidate, Infrastructure, Timeout, Verifier};
    assert_eq!(left(2, &sample(&[])), 2);
    assert_eq!(left(2, &sample(&[None])), 1);
    assert_eq!(left(3, &sample(&[None, Some(Infrastructure), Some(Verifier)])), 2);
    assert_eq!(left(3, &sample(&[Some(Candidate), Some(Timeout), Some(Budget)])), 0);
    // Fewer are asked for than there are.
    assert_eq!(left(1, &sample(&[None, None])), 0);
}
