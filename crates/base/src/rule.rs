//! The rules that specs and what they name are held against: one table of their names and of what each asks for.

/// A rule by its name.
macro_rules! rules {
    ($($variant:ident $name:literal $meaning:literal,)+) => {
        /// A rule that something broke.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Rule {
            $(#[doc = $meaning] $variant,)+
        }

        impl Rule {
            /// All of them, in the order in which they are explained.
            pub const ALL: &[Self] = &[$(Self::$variant,)+];

            /// Its name, as `lint` and SARIF say it.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }

            /// What it asks for, in one sentence.
            pub fn meaning(self) -> &'static str {
                match self { $(Self::$variant => $meaning,)+ }
            }
        }
    };
}

rules! {
    Syntax "syntax" "A file is TOML in UTF-8, with each key once, and the parents that it names are there.",
    Shape "shape" "Each key is one that has a meaning in its place, with a value of the right kind.",
    CommandWords "command-words" "A command is a list of its words, not one string with blanks.",
    Parameters "parameters" "Parameters and axes are declared, and used as they are declared.",
    Identity "identity" "Name, organization, version and authors are such as Harbor takes.",
    Objective "objective" "What is scored, and by what the final candidate is chosen, is possible and fair.",
    Baseline "baseline" "The baseline is there, and what the optimizer may change in it is clear.",
    Images "images" "Images and packages have names that can be built with, of a day that is known.",
    Scorer "scorer" "The scorer's commands and the dataset fit each other.",
    Nested "nested" "The nested run says each thing once, in words that Harbor knows.",
    Splits "splits" "Splits share no sample, and their access and budget can be kept.",
    Targets "targets" "A target can be scored, and the optimizer could not have seen it.",
    Limits "limits" "Times, sizes and counts add up: what has to happen fits into the time it has.",
    Secrets "secrets" "Secrets are named and never written.",
    Gateway "gateway" "Models that are asked for may be asked for.",
    Templates "templates" "A template that a spec brings is one that there is.",
    TaskToml "task-toml" "What is passed to Harbor's task.toml is what Harbor takes.",
    Answers "answers" "Nothing that scores the optimizer lies where it can read it: in the baseline, or in an overlay.",
    LineEndings "line-endings" "A script's first line ends as Linux wants it, without a carriage return.",
    Inputs "inputs" "What a spec names is there, committed, and can be built from.",
    UnpinnedImage "unpinned-image" "An image is named with its digest, so that it is the same next year.",
    SmallFloor "small-floor" "A split whose single results are hidden is only evaluated over so many samples that none shows through.",
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_has_a_name_of_its_own_and_a_sentence() {
        let mut names: Vec<&str> = Rule::ALL.iter().map(|rule| rule.name()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Rule::ALL.len());
        for rule in Rule::ALL {
            assert!(rule.meaning().ends_with('.'), "{rule:?}");
        }
    }
}
