//! The first start: an administrator whom nobody has told a password yet.

use std::path::{Path, PathBuf};

use fleethold_format::names::Userid;
use zeroize::Zeroizing;

use crate::auth::key_file;
use crate::auth::users::UserStore;

/// The first user.
pub const FIRST_USER: &str = "admin@pbs";
/// Length of its generated password; 62^20 is beyond guessing.
const PASSWORD_LEN: usize = 20;

/// Where the generated password is.
#[must_use]
pub fn password_file(state_dir: &Path) -> PathBuf {
    state_dir.join("admin-password")
}

/// Makes `admin@pbs` with a random password in `<state>/admin-password` (0600) when no user exists. Blocks.
///
/// # Errors
/// When user or file cannot be written.
pub fn first_start(users: &UserStore, state_dir: &Path) -> anyhow::Result<()> {
    if !users.is_empty() {
        return Ok(());
    }
    let user: Userid = FIRST_USER.parse()?;
    let password = random_password();
    // The file first: a user whose password nobody knows could not be made again.
    key_file::write_private(&password_file(state_dir), format!("{}\n", *password).as_bytes())?;
    users.create_admin(&user, &password)?;
    Ok(())
}

fn random_password() -> Zeroizing<String> {
    use rand::Rng as _;
    let letters = b"ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789";
    let mut rng = rand::rng();
    let pick = |_| {
        letters
            .get(rng.random_range(0..letters.len()))
            .map_or('x', |letter| char::from(*letter))
    };
    Zeroizing::new((0..PASSWORD_LEN).map(pick).collect())
}
