//! Draws a chart, to pixels or as SVG. Needs no font of the machine's: one is built in.

use std::ops::Range;
use std::sync::OnceLock;

use epaint_default_fonts::HACK_REGULAR;
use plotters::coord::Shift;
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use plotters::style::register_font;

use super::super::column::shown;
use super::super::report::Value;
use super::axis::Axis;
use super::dated::{day_number, day_text};
use super::{Chart, ChartKind};

const WIDTH: u32 = 800;
const HEIGHT: u32 = 480;
const COLOR: RGBColor = RGBColor(31, 119, 180);
const LABEL_STEPS: u32 = 8;

pub(super) fn png(chart: &Chart) -> Option<Vec<u8>> {
    let mut pixels = vec![0; (WIDTH * HEIGHT * 3) as usize];
    draw(BitMapBackend::with_buffer(&mut pixels, (WIDTH, HEIGHT)).into_drawing_area(), chart)?;
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, WIDTH, HEIGHT);
    encoder.set_color(png::ColorType::Rgb);
    encoder.write_header().ok()?.write_image_data(&pixels).ok()?;
    Some(bytes)
}

pub(super) fn svg(chart: &Chart) -> Option<String> {
    let mut text = String::new();
    draw(SVGBackend::with_string(&mut text, (WIDTH, HEIGHT)).into_drawing_area(), chart)?;
    Some(text)
}

type Area<DB> = DrawingArea<DB, Shift>;
type Canvas<'a, DB> = ChartContext<'a, DB, Cartesian2d<RangedCoordf64, RangedCoordf64>>;

fn draw<DB: DrawingBackend>(area: Area<DB>, chart: &Chart) -> Option<()> {
    static HAS_FONT: OnceLock<bool> = OnceLock::new();
    let register = || register_font("sans-serif", FontStyle::Normal, HACK_REGULAR).is_ok();
    if !HAS_FONT.get_or_init(register) {
        return None;
    }
    area.fill(&WHITE).ok()?;
    let [x, y] = sides(chart);
    let mut canvas = ChartBuilder::on(&area)
        .caption(shown(chart.title.as_bytes()), ("sans-serif", 18))
        .margin(12)
        .x_label_area_size(40)
        .y_label_area_size(20 + 7 * y.longest_label().min(28))
        .build_cartesian_2d(x.range(), y.range())
        .ok()?;
    canvas
        .configure_mesh()
        .light_line_style(WHITE)
        .label_style(("sans-serif", 12))
        .x_labels(x.label_count())
        .y_labels(y.label_count())
        .x_label_formatter(&|place| x.label(*place))
        .y_label_formatter(&|place| y.label(*place))
        .draw()
        .ok()?;
    draw_points(&mut canvas, chart, &x, &y)?;
    drop(canvas);
    area.present().ok()
}

fn draw_points<DB: DrawingBackend>(
    canvas: &mut Canvas<'_, DB>,
    chart: &Chart,
    x: &Side,
    y: &Side,
) -> Option<()> {
    match chart.kind {
        ChartKind::Histogram => {
            let bins = chart.points.iter().zip(0u32..).map(|(point, bin)| {
                let (from, count) = (f64::from(bin), y.at(number(point, 2)));
                Rectangle::new([(from, 0.0), (from + 1.0, count)], COLOR.mix(0.8).filled())
            });
            canvas.draw_series(bins).ok().map(drop)
        }
        ChartKind::Bar => {
            let bars = chart.points.iter().zip(0u32..).map(|(point, bar)| {
                let (place, end) = (y.at(f64::from(bar)), x.at(number(point, 1)));
                let corners = [(x.at(0.0), place - 0.4), (end, place + 0.4)];
                Rectangle::new(corners, COLOR.mix(0.8).filled())
            });
            canvas.draw_series(bars).ok().map(drop)
        }
        ChartKind::Line => {
            let points = chart.points.iter().filter(|point| matches!(point.get(1), Some(Some(_))));
            let places: Vec<_> =
                points.map(|point| (x.at(day(point)), y.at(number(point, 1)))).collect();
            let dots = places.iter().map(|place| Circle::new(*place, 2, COLOR.filled()));
            canvas.draw_series(dots).ok()?;
            canvas.draw_series(LineSeries::new(places.iter().copied(), &COLOR)).ok().map(drop)
        }
        ChartKind::Scatter => {
            let place = |point| (x.at(number(point, 0)), y.at(number(point, 1)));
            let dots = chart
                .points
                .iter()
                .map(|point| Circle::new(place(point), 3, COLOR.mix(0.6).filled()));
            canvas.draw_series(dots).ok().map(drop)
        }
        ChartKind::Box => chart
            .points
            .iter()
            .zip(0u32..)
            .try_for_each(|(point, place)| draw_box(canvas, x.at(f64::from(place)), point, y)),
    }
}

fn draw_box<DB: DrawingBackend>(
    canvas: &mut Canvas<'_, DB>,
    place: f64,
    point: &[Option<Value>],
    y: &Side,
) -> Option<()> {
    let [min, low, middle, high, max] = [1, 2, 3, 4, 5].map(|index| y.at(number(point, index)));
    let across = |height: f64, half: f64| vec![(place - half, height), (place + half, height)];
    let up = |from: f64, to: f64| vec![(place, from), (place, to)];
    let corners = [(place - 0.25, low), (place + 0.25, high)];
    let filled = Rectangle::new(corners, COLOR.mix(0.3).filled());
    canvas.draw_series(std::iter::once(filled)).ok()?;
    let lines = [
        up(min, low),
        up(high, max),
        across(min, 0.1),
        across(max, 0.1),
        across(low, 0.25),
        across(middle, 0.25),
        across(high, 0.25),
    ];
    let lines = lines.map(|line| PathElement::new(line, COLOR.stroke_width(2)));
    canvas.draw_series(lines).ok().map(drop)
}

/// What stands along one side of the chart.
enum Side {
    Numbers(Axis),
    /// At whole numbers; from the top where the flag is set.
    Names(Vec<String>, bool),
    /// The first day and the last.
    Days(f64, f64),
}

fn sides(chart: &Chart) -> [Side; 2] {
    let of = |place: usize| chart.points.iter().map(move |point| number(point, place));
    let names = || chart.points.iter().map(|point| name(point.first())).collect();
    match chart.kind {
        ChartKind::Histogram => {
            let edges = chart.points.first().map(|point| (number(point, 0), chart.points.len()));
            let x = edges.zip(chart.points.first()).map(|((from, bins), first)| {
                Axis::of_steps(from, number(first, 1) - from, bins as u32)
            });
            let x = x.unwrap_or(Axis::around(0.0, 1.0, LABEL_STEPS));
            [Side::Numbers(x), numbers(of(2).chain([0.0]))]
        }
        ChartKind::Bar => [numbers(of(1).chain([0.0])), Side::Names(names(), true)],
        ChartKind::Scatter => [numbers(of(0)), numbers(of(1))],
        ChartKind::Line => {
            let days = || chart.points.iter().map(|point| day(point));
            let last = days().fold(f64::MIN, f64::max);
            [Side::Days(days().fold(last, f64::min), last), numbers(of(1))]
        }
        ChartKind::Box => [Side::Names(names(), false), numbers(of(1).chain(of(5)))],
    }
}

fn numbers(all: impl Iterator<Item = f64> + Clone) -> Side {
    let min = all.clone().reduce(f64::min).unwrap_or(0.0);
    Side::Numbers(Axis::around(min, all.reduce(f64::max).unwrap_or(1.0), LABEL_STEPS))
}

impl Side {
    fn range(&self) -> Range<f64> {
        match self {
            Self::Numbers(axis) => 0.0..f64::from(axis.steps),
            Self::Names(names, _) => -0.5..names.len().max(1) as f64 - 0.5,
            Self::Days(first, last) => 0.0..(last - first).max(1.0),
        }
    }

    fn at(&self, value: f64) -> f64 {
        match self {
            Self::Numbers(axis) => axis.at(value),
            Self::Names(names, true) => names.len() as f64 - 1.0 - value,
            Self::Names(_, false) => value,
            Self::Days(first, _) => value - first,
        }
    }

    fn label_count(&self) -> usize {
        match self {
            Self::Numbers(axis) => axis.steps.min(12) as usize + 1,
            Self::Names(names, _) => names.len() + 2,
            Self::Days(..) => 8,
        }
    }

    fn label(&self, place: f64) -> String {
        match self {
            Self::Numbers(axis) => axis.label(place),
            Self::Names(names, from_top) => {
                let index = if *from_top { names.len() as f64 - 1.0 - place } else { place };
                let is_whole = (index - index.round()).abs() < 1e-6 && index > -0.5;
                let name = names.get(index.round() as usize).filter(|_| is_whole);
                name.cloned().unwrap_or_default()
            }
            Self::Days(first, _) => day_text(first + place),
        }
    }

    fn longest_label(&self) -> u32 {
        let labels: Vec<String> = match self {
            Self::Numbers(axis) => {
                (0..=axis.steps).map(|step| axis.label(f64::from(step))).collect()
            }
            Self::Names(names, _) => names.clone(),
            Self::Days(..) => Vec::new(),
        };
        labels.iter().map(|label| label.chars().count()).max().unwrap_or(0) as u32
    }
}

/// Nothing is drawn as zero.
fn number(point: &[Option<Value>], place: usize) -> f64 {
    match point.get(place) {
        Some(Some(Value::Integer(value))) => *value as f64,
        Some(Some(Value::Float(value))) => *value,
        Some(Some(Value::Digits(text))) => {
            text.parse().ok().filter(|n: &f64| n.is_finite()).unwrap_or(0.0)
        }
        _ => 0.0,
    }
}

fn day(point: &[Option<Value>]) -> f64 {
    day_number(&name(point.first()))
}

fn name(value: Option<&Option<Value>>) -> String {
    const MAX_CHARS: usize = 26;
    let text = value.and_then(Option::as_ref).map_or("(empty)".to_owned(), Value::to_text);
    match text.char_indices().nth(MAX_CHARS) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    }
}
