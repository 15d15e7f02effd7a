//! Hands bytes to the browser as a file.

use wasm_bindgen::JsCast;
use web_sys::{Blob, BlobPropertyBag, HtmlAnchorElement, Url};

use crate::model::load::Problem;

/// Saves `bytes` under a name the browser may change.
///
/// # Errors
/// The browser refused to make the file.
pub fn save(name: &str, mime: &str, bytes: &[u8]) -> Result<(), Problem> {
    let refused = |_| Problem {
        code: "download".into(),
        status: 0,
        detail: format!("the browser refused to save {name}"),
    };
    let parts = js_sys::Array::of1(&js_sys::Uint8Array::from(bytes));
    let options = BlobPropertyBag::new();
    options.set_type(mime);
    let blob = Blob::new_with_u8_array_sequence_and_options(&parts, &options).map_err(refused)?;
    let url = Url::create_object_url_with_blob(&blob).map_err(refused)?;
    let anchor = web_sys::window()
        .and_then(|w| w.document())
        .and_then(|d| d.create_element("a").ok())
        .and_then(|a| a.dyn_into::<HtmlAnchorElement>().ok());
    if let Some(anchor) = anchor {
        anchor.set_href(&url);
        anchor.set_download(name);
        anchor.click();
    }
    // the click has started the download: the address is no longer needed
    Url::revoke_object_url(&url).map_err(refused)
}
