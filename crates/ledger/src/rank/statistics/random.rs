//! Random numbers that are the same on every machine and in every release.

/// The generator `SplitMix64`. It has 64 bits of state, is quick, and is short enough to be stated in full: a library's
/// default generator may change from one release to the next, and every interval with it.
#[derive(Debug, Clone)]
pub struct SplitMix64(u64);

impl SplitMix64 {
    /// One that draws the same numbers for the same seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number, each equally likely.
    #[allow(clippy::should_implement_trait, reason = "it never ends")]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below the bound, each equally likely. The bound is above zero.
    ///
    /// The high half of a product of 32 bits each; the few products that would make some numbers likelier are refused.
    pub fn below(&mut self, bound: u32) -> u32 {
        let refused = bound.wrapping_neg() % bound;
        loop {
            let product = (self.next() >> 32) * u64::from(bound);
            // The low half: what is cut off is what is looked at.
            #[allow(clippy::cast_possible_truncation)]
            if product as u32 >= refused {
                return (product >> 32) as u32;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use taskwright_testing::test;

    /// The numbers that the generator's authors' C program prints for this seed.
    #[test]
    fn the_generator_is_the_published_one() {
        let mut random = SplitMix64::new(1_234_567);
        let drawn: Vec<_> = (0..5).map(|_| random.next()).collect();
        assert_eq!(
            drawn,
            [
                6_457_827_717_110_365_317,
                3_203_168_211_198_807_973,
                9_817_491_932_198_370_423,
                4_593_380_528_125_082_431,
                16_408_922_859_458_223_821
            ]
        );
    }

    #[test]
    fn every_number_below_the_bound_is_about_as_likely() {
        let mut random = SplitMix64::new(1);
        let mut counts = [0_u32; 7];
        for _ in 0..70_000 {
            counts[random.below(7) as usize] += 1;
        }
        // The standard deviation of a count is 93.
        assert!(counts.iter().all(|count| count.abs_diff(10_000) < 400), "{counts:?}");
        assert!((0..100).all(|_| random.below(1) == 0));
    }
}
