//! The sheet's colours as the canvas needs them: read at each draw, so that a change of theme is seen at once.

use plotters::style::RGBAColor;
use plotters_backend::BackendColor;
use web_sys::{CssStyleDeclaration, Element};

/// Reads the sheet's custom properties of one element. They are registered as colours in `app.css`, so that the browser
/// resolves `light-dark()` before we see it.
pub(super) struct Colours(Option<CssStyleDeclaration>);

impl Colours {
    /// The colours in force at an element.
    pub(super) fn of(element: &Element) -> Self {
        Self(web_sys::window().and_then(|w| w.get_computed_style(element).ok().flatten()))
    }

    /// A colour such as `--c1`; black when the sheet does not have it.
    pub(super) fn get(&self, name: &str) -> BackendColor {
        self.0
            .as_ref()
            .and_then(|style| style.get_property_value(name).ok())
            .and_then(|text| parse(&text))
            .unwrap_or(BackendColor {
                alpha: 1.0,
                rgb: (0, 0, 0),
            })
    }

    /// The same as plotters takes it.
    pub(super) fn rgba(&self, name: &str) -> RGBAColor {
        let colour = self.get(name);
        RGBAColor(colour.rgb.0, colour.rgb.1, colour.rgb.2, colour.alpha)
    }
}

/// `rgb(r, g, b)`, `rgba(r, g, b, a)`, `rgb(r g b / a)`, `#rrggbb`.
pub(super) fn parse(text: &str) -> Option<BackendColor> {
    let text = text.trim();
    if let Some(hex) = text.strip_prefix('#') {
        let n = u32::from_str_radix(hex.get(..6)?, 16).ok()?;
        return Some(BackendColor {
            alpha: 1.0,
            rgb: ((n >> 16) as u8, (n >> 8) as u8, n as u8),
        });
    }
    let inner = text
        .strip_prefix("rgba(")
        .or_else(|| text.strip_prefix("rgb("))?
        .strip_suffix(')')?;
    let mut numbers = inner
        .split([',', ' ', '/'])
        .filter(|p| !p.is_empty())
        .map(str::parse::<f64>);
    let mut next = || numbers.next()?.ok();
    let rgb = (next()? as u8, next()? as u8, next()? as u8);
    Some(BackendColor {
        rgb,
        alpha: next().unwrap_or(1.0),
    })
}

/// As the canvas reads it.
pub(super) fn css(colour: BackendColor) -> String {
    let (r, g, b) = colour.rgb;
    format!("rgba({r},{g},{b},{})", colour.alpha)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_a_browser_computes_is_read() {
        for text in [
            "rgb(26, 107, 184)",
            "rgba(26, 107, 184, 1)",
            "rgb(26 107 184 / 1)",
            "#1a6bb8",
            " rgb(26 107 184)",
        ] {
            let colour = parse(text).expect(text);
            assert_eq!((colour.rgb, colour.alpha), ((26, 107, 184), 1.0), "{text}");
        }
        assert_eq!(parse("rgba(1,2,3,.5)").map(|c| c.alpha), Some(0.5));
        assert!(parse("light-dark(#fff, #000)").is_none() && parse("").is_none());
    }
}
