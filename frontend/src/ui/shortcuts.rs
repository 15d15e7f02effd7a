//! The sheet of shortcuts.

use yew::prelude::*;

use super::Dialog;
use crate::t;

/// What is shown; drawn by [`Shortcuts::view`]: it has no state, so it is no component.
#[derive(Properties, PartialEq)]
pub struct Shortcuts {
    /// Closes it.
    pub on_close: Callback<()>,
}

/// What is done, and the keys for it.
type Shortcut = (&'static str, &'static [&'static str]);

impl Shortcuts {
    /// The sheet.
    pub fn view(&self) -> Html {
        let groups: [(&str, Vec<Shortcut>); 3] = [
            (
                t!(keys_anywhere),
                vec![
                    (t!(keys_palette), &["Ctrl", "K"]),
                    (t!(keys_filter), &["/"]),
                    (t!(keys_fleet), &["G", "F"]),
                    (t!(keys_jobs), &["G", "J"]),
                    (t!(keys_history), &["G", "H"]),
                    (t!(bench.keys_bench), &["G", "B"]),
                    (t!(keys_settings), &["G", "S"]),
                    (t!(switch_theme), &["T"]),
                    (t!(keys_sheet), &["?"]),
                ],
            ),
            (
                t!(keys_grid),
                vec![
                    (t!(keys_move), &["↑", "↓"]),
                    (t!(keys_page), &["PgUp", "PgDn"]),
                    (t!(keys_ends), &["Home", "End"]),
                    (t!(keys_open), &["Enter"]),
                    (t!(keys_tree), &["←", "→"]),
                ],
            ),
            (
                t!(keys_chart),
                vec![
                    (t!(keys_crosshair), &["←", "→"]),
                    (t!(keys_ends), &["Home", "End"]),
                    (t!(bench.keys_zoom), &["Enter"]),
                    (t!(keys_leave), &["Esc"]),
                ],
            ),
        ];
        html! {
            <Dialog title={t!(shortcuts)} on_close={self.on_close.clone()}>
                <div class="dialog-pad">
                    <div class="sheet">
                        { for groups.into_iter().map(|(title, keys)| html! {
                            <div key={title}>
                                <h3>{ title }</h3>
                                <dl>
                                    { for keys.into_iter().map(|(what, keys)| html! {
                                        <><dt>{ what }</dt><dd>{ for keys.iter().map(|k| html! { <kbd>{ *k }</kbd> }) }</dd></>
                                    }) }
                                </dl>
                            </div>
                        }) }
                    </div>
                </div>
            </Dialog>
        }
    }
}
