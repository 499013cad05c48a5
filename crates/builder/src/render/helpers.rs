//! The helpers that templates call: quoting for each language, and conditions that refuse a variable nobody defined.

use handlebars::{
    Context, Handlebars, Helper, HelperDef, HelperResult, Output, RenderContext, RenderError,
    RenderErrorReason, Renderable,
};
use serde_json::Value;

use super::quote;

pub fn register(registry: &mut Handlebars<'static>) {
    registry.register_helper("sh", Box::new(Quote { name: "sh", quote: |text| Some(quote::shell(text)) }));
    registry.register_helper("yaml", Box::new(Quote { name: "yaml", quote: |text| Some(quote::yaml(text)) }));
    registry.register_helper(
        "compose",
        Box::new(Quote { name: "compose", quote: |text| Some(quote::compose(text)) }),
    );
    registry.register_helper("dockerfile", Box::new(Quote { name: "dockerfile", quote: quote::dockerfile }));
    registry.register_helper(
        "cell",
        Box::new(Quote { name: "cell", quote: |text| Some(quote::markdown_cell(text)) }),
    );
    registry.register_helper("if", Box::new(Condition { name: "if", wanted: true }));
    registry.register_helper("unless", Box::new(Condition { name: "unless", wanted: false }));
}

/// Writes a text quoted for a language.
struct Quote {
    name: &'static str,
    quote: fn(&str) -> Option<String>,
}

impl HelperDef for Quote {
    fn call<'reg: 'rc, 'rc>(
        &self,
        helper: &Helper<'rc>,
        _: &'reg Handlebars<'reg>,
        _: &'rc Context,
        _: &mut RenderContext<'reg, 'rc>,
        out: &mut dyn Output,
    ) -> HelperResult {
        let text = match parameter(helper, self.name)? {
            Value::String(text) => text.clone(),
            Value::Number(number) => number.to_string(),
            Value::Bool(truth) => truth.to_string(),
            other => {
                return Err(wrong(format!("`{}` was given {other}, which is no plain value", self.name)));
            }
        };
        let quoted = (self.quote)(&text)
            .ok_or_else(|| wrong(format!("`{}` cannot say the text {text:?}", self.name)))?;
        out.write(&quoted)?;
        Ok(())
    }
}

/// `if` and `unless`, which Handlebars would let pass in silence for a variable that does not exist.
struct Condition {
    name: &'static str,
    wanted: bool,
}

impl HelperDef for Condition {
    fn call<'reg: 'rc, 'rc>(
        &self,
        helper: &Helper<'rc>,
        registry: &'reg Handlebars<'reg>,
        context: &'rc Context,
        render: &mut RenderContext<'reg, 'rc>,
        out: &mut dyn Output,
    ) -> HelperResult {
        let truth = match parameter(helper, self.name)? {
            Value::Bool(truth) => *truth,
            Value::Array(items) => !items.is_empty(),
            Value::String(text) => !text.is_empty(),
            other => {
                return Err(wrong(format!(
                    "`{}` was given {other}, which is neither true nor false",
                    self.name
                )));
            }
        };
        let branch = if truth == self.wanted { helper.template() } else { helper.inverse() };
        branch.map_or(Ok(()), |template| template.render(registry, context, render, out))
    }
}

fn parameter<'rc>(helper: &'rc Helper<'rc>, name: &str) -> Result<&'rc Value, RenderError> {
    let parameter = helper.param(0).ok_or_else(|| wrong(format!("`{name}` was given nothing")))?;
    if parameter.is_value_missing() {
        let path = parameter.relative_path().map_or("this", String::as_str);
        return Err(wrong(format!("there is no variable `{path}`")));
    }
    Ok(parameter.value())
}

fn wrong(words: String) -> RenderError {
    RenderErrorReason::Other(words).into()
}
