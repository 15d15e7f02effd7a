//! Flame graphs, laid out.

use fleethold_api_types::bench::{AttachmentKind, Flame, FlameFrame};
use fleethold_bench_model::flame::{Folded, Limits, Orientation, layout};
use uuid::Uuid;

use super::files;
use super::turns::Turn;
use crate::services::error::{ServiceError, ServiceResult};
use crate::state::AppState;

/// What is drawn: narrower frames cannot be seen, that is a quarter of a pixel on the widest screens; and of more frames
/// than that the narrowest are left out.
const LIMITS: Limits = Limits {
    min_width: 1.0 / 16_000.0,
    max_frames: 20_000,
};

/// The flame graph of an attachment; with another one before it, the difference of the two.
///
/// # Errors
/// When an attachment is none, or no folded stacks.
pub async fn flame(state: &AppState, of: Uuid, before: Option<Uuid>) -> ServiceResult<Flame> {
    let turn = state.lab.turns.turn().await?;
    let now = read(state, &turn, of).await?;
    let earlier = match before {
        Some(before) => Some(read(state, &turn, before).await?),
        None => None,
    };
    let drawn = turn.compute(move || {
        let now = files::stacks(&now)?;
        let earlier = earlier.map(|bytes| files::stacks(&bytes)).transpose()?;
        Ok(draw(&now, earlier.as_ref()))
    });
    drawn.await
}

async fn read(state: &AppState, turn: &Turn, id: Uuid) -> ServiceResult<Vec<u8>> {
    let (file, bytes) = files::whole(state, turn, id).await?;
    if file.kind == AttachmentKind::FlameGraph {
        return Ok(bytes);
    }
    let text = format!("attachment {id}: expected folded stacks, found {:?}", file.kind);
    Err(ServiceError::unprocessable("no-flame-graph", text))
}

fn draw(now: &Folded, before: Option<&Folded>) -> Flame {
    let drawn = layout(now, before, Orientation::Icicle, LIMITS);
    let frames: Vec<FlameFrame> = (0..)
        .zip(drawn.rows)
        .flat_map(|(depth, row)| row.into_iter().map(move |frame| (depth, frame)))
        .map(|(depth, frame)| FlameFrame {
            name: frame.name,
            depth,
            left: frame.x,
            width: frame.width,
            samples: frame.total,
            change: frame.delta,
        })
        .collect();
    Flame {
        total: drawn.total,
        before_total: before.map_or(0, Folded::total),
        hidden: drawn.hidden,
        frames,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_says_what_grew() {
        let before = Folded::parse("main;read 3\nmain;parse 1\n").unwrap();
        let now = Folded::parse("main;read 1\nmain;parse 3\n").unwrap();
        let drawn = draw(&now, Some(&before));
        assert_eq!((drawn.total, drawn.before_total, drawn.hidden), (4, 4, 0));
        let find = |name: &str| drawn.frames.iter().find(|frame| frame.name == name).unwrap();
        assert_eq!((find("parse").change, find("parse").samples), (Some(0.5), 3));
        assert_eq!(find("read").change, Some(-0.5));
        assert!(find("main").depth < find("read").depth);
        assert_eq!(drawn.frames[0].depth, 0);
        assert_eq!(drawn.frames[0].width, 1.0);
    }

    #[test]
    fn a_picture_is_bounded_and_says_what_is_left_out() {
        let text: String = (0..30_000).map(|n| format!("main;f{n} 1\n")).collect();
        let drawn = draw(&Folded::parse(&text).unwrap(), None);
        assert!(drawn.frames.len() <= LIMITS.max_frames);
        assert_eq!(drawn.frames.len() as u64 + drawn.hidden, 30_002);
        assert!(drawn.frames.iter().any(|frame| frame.name == "main"));
    }
}
