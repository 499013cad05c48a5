//! What a browser makes of the page.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use taskwright_ledger::record::{Agent, Exception, Status, Trial};
use taskwright_testing::test;
use tempfile::TempDir;

use crate::chromium::Browser;
use crate::demonstration::{self, Demonstration, demonstration};
use crate::page;

/// The page of a demonstration in a file, and what it was made from.
struct Shown {
    browser: Browser,
    file: PathBuf,
    demonstration: Demonstration,
    /// How long it took to make the page.
    rendered: Duration,
    _directory: TempDir,
}

fn show(demonstration: Demonstration) -> Shown {
    let browser = Browser::start();
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("report.html");
    let begun = Instant::now();
    fs::write(&file, page(&demonstration.agents, &demonstration.trials)).unwrap();
    let rendered = begun.elapsed();
    let mut shown = Shown { browser, file, demonstration, rendered, _directory: directory };
    shown.browser.look(1280, 900, "light");
    shown.browser.open(&shown.file);
    shown
}

/// The names of the trials that the table shows now.
fn listed(browser: &mut Browser) -> Vec<String> {
    let names = browser
        .evaluate("[...document.querySelectorAll('#trial-table tr.trial a')].map((a) => a.textContent)");
    names.as_array().unwrap().iter().map(|name| name.as_str().unwrap().to_owned()).collect()
}

/// The names of the trials of the demonstration that are like this.
fn wanted(demonstration: &Demonstration, is_wanted: impl Fn(&Trial) -> bool) -> BTreeSet<String> {
    let like = demonstration.trials.iter().filter(|trial| is_wanted(trial));
    like.map(|trial| trial.trial_name.clone()).collect()
}

fn set(names: Vec<String>) -> BTreeSet<String> {
    let count = names.len();
    let set: BTreeSet<String> = names.into_iter().collect();
    assert_eq!(set.len(), count, "a trial stands there twice");
    set
}

#[test]
fn nothing_is_fetched_and_nothing_complains() {
    let mut shown = show(demonstration(3));
    let browser = &mut shown.browser;
    for scheme in ["light", "dark"] {
        browser.look(1280, 900, scheme);
        browser.open(&shown.file);
        assert_eq!(browser.complaints(), [""; 0]);
    }
    let resources = browser.evaluate("performance.getEntriesByType('resource').length");
    assert_eq!(resources, 0);
    // The policy is there, and in force: a page that tries is refused.
    let refused = browser.evaluate(
        "new Promise((done) => {
           addEventListener('securitypolicyviolation', (event) => done(event.effectiveDirective));
           const image = new Image(); image.src = 'http://127.0.0.1:9/'; })",
    );
    assert_eq!(refused, "img-src");
}

#[test]
fn nothing_is_wider_than_a_phone() {
    let mut shown = show(demonstration(3));
    for width in [320, 360, 768, 1280] {
        shown.browser.look(width, 740, "light");
        shown.browser.open(&shown.file);
        // With a trial open as well, whose details are long.
        shown.browser.click("#trial-table tr.trial a");
        let wide = shown.browser.evaluate("document.documentElement.scrollWidth");
        assert!(wide.as_u64().unwrap() <= u64::from(width), "{wide} at {width}");
        // What is wider than the page lies in a region that scrolls, and that the keyboard reaches.
        let stray = shown.browser.evaluate(
            "[...document.querySelectorAll('.scroll')]
               .filter((region) => region.tabIndex !== 0 || !region.getAttribute('aria-labelledby') && !region.ariaLabel).length",
        );
        assert_eq!(stray, 0);
    }
}

#[test]
fn on_a_phone_what_matters_of_a_trial_and_of_the_map_is_in_sight() {
    let mut shown = show(demonstration(3));
    shown.browser.look(390, 844, "light");
    shown.browser.open(&shown.file);
    let right = shown.browser.evaluate(
        "Math.max(...[...document.querySelectorAll('#trial-table tr.trial td:is(:nth-child(4), :nth-child(5))')]
           .filter((cell) => cell.checkVisibility()).map((cell) => cell.getBoundingClientRect().right))",
    );
    assert!(right.as_f64().unwrap() > 0.0 && right.as_f64().unwrap() <= 390.0, "{right}");
    let high = shown.browser.evaluate(
        "Math.max(...[...document.querySelectorAll('.heat thead th')].map((head) => head.getBoundingClientRect().height))",
    );
    assert!(high.as_f64().unwrap() < 60.0, "{high}");
}

#[test]
fn the_keyboard_reaches_every_control() {
    let mut shown = show(demonstration(1));
    let browser = &mut shown.browser;
    // Every control gets a number; those in the heat map share one stop.
    let count = browser.evaluate(
        "(() => { const all = [...document.querySelectorAll('a[href], button, input, select, summary, [tabindex=\"0\"]')]
             .filter((one) => one.checkVisibility() && !one.disabled && one.tabIndex >= 0);
           all.forEach((one, number) => { one.control = number; }); return all.length; })()",
    );
    let mut reached = BTreeSet::new();
    let mut order = Vec::new();
    for _ in 0..count.as_u64().unwrap() + 5 {
        browser.press("Tab");
        let (control, ring) = focus(browser);
        let Some(control) = control else { break };
        assert!(ring, "the focus cannot be seen on control {control}");
        order.push(control);
        reached.insert(control);
    }
    assert_eq!(reached.len() as u64, count.as_u64().unwrap());
    assert!(order.is_sorted(), "the order of focus is not that of the page: {order:?}");
}

/// The number of the control that has the focus, and whether that can be seen.
fn focus(browser: &mut Browser) -> (Option<u64>, bool) {
    let answer = browser.evaluate(
        "(() => { const one = document.activeElement; const style = getComputedStyle(one);
           const drawn = one.querySelector('circle, .bar'); const stroke = drawn && getComputedStyle(drawn);
           return [one.control ?? null, style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 1
             || !!stroke && parseFloat(stroke.strokeWidth) >= 3]; })()",
    );
    (answer[0].as_u64(), answer[1].as_bool().unwrap())
}

#[test]
fn the_heat_map_is_walked_by_arrows_and_leads_to_its_trials() {
    let mut shown = show(demonstration(3));
    let browser = &mut shown.browser;
    browser.evaluate("document.querySelector('.heat tbody a').focus()");
    for key in ["ArrowDown", "ArrowDown", "ArrowRight", "ArrowRight"] {
        browser.press(key);
    }
    let place = browser.evaluate(
        "(() => { const cell = document.activeElement.closest('td'); return [cell.parentElement.id, cell.cellIndex]; })()",
    );
    assert_eq!(place, json!(["k-3", 2]));
    browser.press("Enter");
    // The third task by the agent of the second column.
    let title = browser.evaluate("document.querySelector('.heat thead').rows[0].cells[2].textContent");
    let task = browser.evaluate("document.querySelector('#k-3 th').textContent");
    let agent = agent_of(&shown.demonstration, title.as_str().unwrap());
    let right = wanted(&shown.demonstration, |trial| {
        trial.task == task.as_str().unwrap() && trial.agent_digest == agent.digest
    });
    assert_eq!(right.len(), 3);
    assert_eq!(set(listed(browser)), right);
    assert_eq!(browser.evaluate("document.activeElement.id"), "trials-title");
    // Another cell, and back to the first.
    browser.evaluate("document.querySelector('.heat tbody td a').click()");
    assert_ne!(set(listed(browser)), right);
    let back = "history.back(), new Promise((done) => addEventListener('hashchange', () => done(0)))";
    browser.evaluate(back);
    assert_eq!(set(listed(browser)), right);
    assert_eq!(browser.complaints(), [""; 0]);
}

/// The agent that a heading of the page names.
fn agent_of<'a>(demonstration: &'a Demonstration, title: &str) -> &'a Agent {
    let is_named = |agent: &&Agent| {
        title.contains(&agent.label)
            && (agent.label != "claude-code" || title.contains(agent.model.as_deref().unwrap()))
    };
    demonstration.agents.iter().find(is_named).unwrap()
}

#[test]
fn every_number_leads_to_as_many_trials() {
    let mut shown = show(demonstration(3));
    let browser = &mut shown.browser;
    let selector = "main a[data-go], .facts a[data-go], .heat td a, .leaderboard tbody th a";
    let links =
        browser.evaluate(&format!("document.querySelectorAll({selector:?}).length")).as_u64().unwrap();
    assert!(links > 150, "{links}");
    // Each link is clicked, and the count that it shows compared with what the table then says.
    let wrong = browser.evaluate(&format!(
        "[...document.querySelectorAll({selector:?})].map((link) => {{
           link.dispatchEvent(new MouseEvent('click', {{bubbles: true, cancelable: true}}));
           const said = document.getElementById('shown').textContent;
           const count = parseInt(said, 10);
           const cell = link.closest('td, dd');
           let expected = null;
           if (link.closest('svg')) expected = parseInt(/: (\\d+) trial/.exec(link.ariaLabel)[1], 10);
           else if (link.closest('.heat')) expected = parseInt(/ of (\\d+) trials/.exec(link.ariaLabel)[1], 10);
           else if (cell?.dataset.is && cell.dataset.is !== 'reward' || link.closest('.facts, .failures')) expected = parseInt(link.textContent, 10);
           return expected !== null && expected !== count ? [link.outerHTML, said] : null;
         }}).filter(Boolean)"
    ));
    assert_eq!(wrong, json!([]));
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
fn the_table_is_filtered_sorted_and_paged() {
    let mut shown = show(demonstration(3));
    let browser = &mut shown.browser;
    let total = shown.demonstration.trials.len();
    assert_eq!(listed(browser).len(), 50);
    browser.click("#pages [data-step=last]");
    assert_eq!(listed(browser).len(), (total - 1) % 50 + 1);

    browser.evaluate(
        "(() => { const f = document.getElementById('filter'); f.elements.s.value = 'unfinished';
       f.dispatchEvent(new Event('input')); })()",
    );
    let right = wanted(&shown.demonstration, |trial| trial.status != Status::Complete);
    assert_eq!(set(listed(browser)), right);
    let address = browser.evaluate("location.hash");
    assert_eq!(address, "#show&s=unfinished");

    // A kept address shows the same again.
    browser.open(&shown.file);
    browser.evaluate("location.hash = '#show&s=unfinished', new Promise((done) => addEventListener('hashchange', () => done(0)))");
    assert_eq!(set(listed(browser)), right);

    browser.click("#filter button");
    browser.click("#trial-table thead th:nth-child(4) button");
    let order = "[document.querySelector('#trial-table th:nth-child(4)').ariaSort,
       ...[...document.querySelectorAll('#trial-table tr.trial td:nth-child(4)')].map((cell) => cell.dataset.v)]";
    let down = browser.evaluate(order);
    browser.click("#trial-table thead th:nth-child(4) button");
    let up = browser.evaluate(order);
    assert_eq!((&down[0], &up[0]), (&json!("descending"), &json!("ascending")));
    let rewards = |order: &Value| -> Vec<f64> {
        order.as_array().unwrap()[1..].iter().map(|value| value.as_str().unwrap().parse().unwrap()).collect()
    };
    assert!(rewards(&down).iter().rev().is_sorted() && rewards(&up).is_sorted());
    // What has no reward comes last, either way.
    browser.click("#pages [data-step=last]");
    let last = browser
        .evaluate("[...document.querySelectorAll('#trial-table tr.trial td:nth-child(4)')].at(-1).dataset.v");
    assert_eq!(last, "");
    // The tables of agents and tasks are sorted too.
    for table in [".leaderboard", ".heat", ".failures"] {
        browser.click(&format!("{table} thead th:nth-child(2) button"));
        let kind =
            browser.evaluate(&format!("document.querySelector('{table} thead th:nth-child(2)').ariaSort"));
        assert!(kind.is_string(), "{table}");
    }
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
fn a_trial_opens_and_closes_and_has_an_address() {
    let mut shown = show(demonstration(3));
    let browser = &mut shown.browser;
    let state = "(() => { const link = document.querySelector('#trial-table tr.trial a');
       return [link.ariaExpanded, link.closest('tr').nextElementSibling.checkVisibility()]; })()";
    assert_eq!(browser.evaluate(state), json!(["false", false]));
    browser.evaluate("document.querySelector('#trial-table tr.trial a').focus()");
    browser.press("Enter");
    assert_eq!(browser.evaluate(state), json!(["true", true]));
    assert_eq!(browser.evaluate("location.hash"), "#t-1");
    browser.press("Enter");
    assert_eq!(browser.evaluate(state), json!(["false", false]));

    // A trial of a later page, by its address.
    browser.evaluate(
        "location.hash = '#t-120', new Promise((done) => addEventListener('hashchange', () => done(0)))",
    );
    assert_eq!(browser.evaluate("document.querySelector('#m-120').checkVisibility()"), true);
    assert_eq!(browser.evaluate("document.activeElement.closest('tr').id"), "t-120");
}

#[test]
fn without_a_script_everything_is_there() {
    let mut shown = show(demonstration(2));
    let browser = &mut shown.browser;
    browser.call("Emulation.setScriptExecutionDisabled", &json!({"value": true}));
    browser.open(&shown.file);
    let count = browser
        .evaluate("[...document.querySelectorAll('tr.trial')].filter((row) => row.checkVisibility()).length");
    assert_eq!(count, shown.demonstration.trials.len());
    // Every address within the page leads somewhere, and nothing is offered that would do nothing.
    let dead = browser.evaluate(
        "[...document.querySelectorAll(\"a[href^='#']\")].map((link) => link.getAttribute('href').slice(1))
           .filter((id) => !document.getElementById(id))",
    );
    assert_eq!(dead, json!([]));
    assert_eq!(
        browser.evaluate(
            "[...document.querySelectorAll('button, select')].some((one) => one.checkVisibility())"
        ),
        false
    );
    browser.click("tr.trial a");
    assert_eq!(browser.evaluate("document.querySelector('tr.more').checkVisibility()"), true);
}

#[test]
fn text_stands_out_from_what_is_behind_it() {
    let mut shown = show(demonstration(2));
    for scheme in ["light", "dark"] {
        shown.browser.look(1280, 900, scheme);
        shown.browser.open(&shown.file);
        shown.browser.click("#trial-table tr.trial a");
        let faint = shown.browser.evaluate(include_str!("contrast.js"));
        assert_eq!(faint["checked"].as_u64().map(|count| count > 500), Some(true), "{faint}");
        assert_eq!(faint["faint"], json!([]), "{scheme}");
    }
}

#[test]
fn hostile_names_stay_names() {
    let bad = [
        "</script><img src=x onerror=hacked()>",
        "</style></table><svg onload=hacked()>",
        "\"><a href=javascript:hacked()>x</a>",
        "' onmouseover=hacked() x='",
        "{{{page}}} ${hacked()} <!--",
        "\u{202e}gnp.exe\u{0}\u{7}\r\n",
        "../../etc/passwd",
        "𝔘𝔫𝔦 𐀀 漢字 🦀",
    ];
    let long = "<b>".repeat(4_000);
    let texts: Vec<&str> = bad.into_iter().chain([long.as_str()]).collect();
    let agents: Vec<Agent> = texts
        .iter()
        .zip(90..)
        .map(|(text, place)| demonstration::agent(place, text, Some(text), Some(text)))
        .collect();
    let mut trials = Vec::new();
    for (agent, text) in agents.iter().zip(&texts) {
        for task in &texts {
            let mut trial = demonstration::planned(agent, "t/t", trials.len());
            for field in [&mut trial.trial_name, &mut trial.task, &mut trial.id] {
                (*task).clone_into(field);
            }
            trial.id.push_str(text);
            trial.started_at = Some((*text).to_owned());
            trial.exception =
                Some(Exception { kind: (*text).to_owned(), message: (*task).to_owned(), step: None });
            trial.status = Status::Partial;
            trial.evidence =
                vec![taskwright_ledger::record::Evidence { path: (*text).to_owned(), ..Default::default() }];
            trials.push(trial);
        }
    }
    let mut shown = show(Demonstration { agents, trials });
    let browser = &mut shown.browser;
    assert_eq!(browser.complaints(), [""; 0]);
    assert_eq!(browser.evaluate("typeof hacked"), "undefined");
    assert_eq!(browser.evaluate("document.querySelectorAll('img, b:not(.exception b), [onload], [onerror], [onmouseover], a[href^=javascript]').length"), 0);
    assert_eq!(browser.evaluate("document.querySelectorAll('main > section').length"), 7);
    let name = browser.evaluate("document.querySelector('#shown').textContent");
    assert_eq!(name, "81 of 81 trials");
    browser.look(360, 740, "light");
    browser.open(&shown.file);
    let wide = browser.evaluate("document.documentElement.scrollWidth").as_u64().unwrap();
    assert!(wide <= 360, "{wide}");
}

#[test]
fn ten_thousand_trials_stay_usable() {
    let many = demonstration(80);
    assert!(many.trials.len() > 10_000);
    let mut shown = show(many);
    let size = fs::metadata(&shown.file).unwrap().len();
    let begun = Instant::now();
    shown.browser.open(&shown.file);
    let loaded = begun.elapsed();
    let filtered = shown.browser.evaluate(
        "(() => { const begun = performance.now(); const form = document.getElementById('filter');
           form.elements.q.value = 'timeout'; form.dispatchEvent(new Event('input'));
           document.body.offsetHeight; return performance.now() - begun; })()",
    );
    eprintln!(
        "10,000 trials: {size} bytes, made in {:?}, loaded in {loaded:?}, filtered by a word in {filtered} ms",
        shown.rendered
    );
    assert!(size < 25_000_000, "{size}");
    // Far from what it takes, so that a busy machine does not fail it.
    assert!(loaded.as_secs() < 20 && filtered.as_f64().unwrap() < 5_000.0, "{loaded:?}, {filtered}");
    assert_eq!(listed(&mut shown.browser).len(), 50);
}
