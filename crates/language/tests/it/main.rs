//! The tests of this crate, as one program: linked once, and run side by side.

mod harbor;
mod language;
mod limits;
mod names;
mod params;
mod parents;
mod properties;
mod shape;
mod splits;
mod support;
mod surroundings;
mod text;
mod vero;
