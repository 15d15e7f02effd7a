//! The system's crypt(3), for the password hashes of an imported PBS host (`$y$`, `$5$`, …).
//!
//! The library is opened when the first such hash is met: a host without it runs everything else.

#![expect(
    unsafe_code,
    reason = "crypt_r is a C function of a library that is opened at run time"
)]

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::sync::OnceLock;

use zeroize::Zeroize;

/// Names of the library: libxcrypt with and without the interface of old programs.
const LIBRARIES: [&CStr; 2] = [c"libcrypt.so.1", c"libcrypt.so.2"];

/// Working memory of one call. libxcrypt uses 32 KiB, glibc's own crypt of old 131,232 bytes.
const WORK_BYTES: usize = 256 * 1024;

type CryptR =
    unsafe extern "C" fn(phrase: *const c_char, setting: *const c_char, data: *mut c_void) -> *mut c_char;

unsafe extern "C" {
    fn dlopen(file: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, symbol: *const c_char) -> *mut c_void;
}

const RTLD_NOW: c_int = 2;

/// Aligned as any C structure may ask for.
#[repr(C, align(64))]
struct Work([u8; WORK_BYTES]);

/// Why crypt(3) gave no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CryptLibraryError {
    /// Neither libcrypt.so.1 nor libcrypt.so.2 is there.
    #[error("the hash needs the system library libcrypt.so.1, which is not installed")]
    Missing,
    /// The library does not know this kind of hash.
    #[error("the system library libcrypt does not know this kind of hash")]
    Unknown,
    /// The password holds a byte of value zero.
    #[error("the password holds a zero byte")]
    ZeroByte,
}

fn crypt_r() -> Option<CryptR> {
    static FOUND: OnceLock<Option<CryptR>> = OnceLock::new();
    *FOUND.get_or_init(|| {
        LIBRARIES.into_iter().find_map(|name| {
            // SAFETY: both strings end in a zero byte. The library is never closed, so the function stays valid, and crypt_r has
            // had this signature in every version of the library.
            unsafe {
                let library = dlopen(name.as_ptr(), RTLD_NOW);
                if library.is_null() {
                    return None;
                }
                let symbol = dlsym(library, c"crypt_r".as_ptr());
                if symbol.is_null() {
                    return None;
                }
                Some(std::mem::transmute::<*mut c_void, CryptR>(symbol))
            }
        })
    })
}

/// Hashes `password` as `stored` says; equal to `stored` if and only if the password is right. Slow on purpose.
///
/// # Errors
/// [`CryptLibraryError`].
pub(super) fn crypt(password: &str, stored: &str) -> Result<String, CryptLibraryError> {
    let crypt_r = crypt_r().ok_or(CryptLibraryError::Missing)?;
    let mut phrase = CString::new(password)
        .map_err(|_| CryptLibraryError::ZeroByte)?
        .into_bytes_with_nul();
    let setting = CString::new(stored).map_err(|_| CryptLibraryError::Unknown)?;
    // SAFETY: all zeros is a valid array of bytes.
    let mut work: Box<Work> = unsafe { Box::new_zeroed().assume_init() };
    // SAFETY: both strings end in a zero byte; the work area is large enough, zeroed as the first call requires, and used by this
    // call alone. The answer, if any, is a string inside the work area, which outlives its copy.
    let answer = unsafe {
        let answer = crypt_r(phrase.as_ptr().cast(), setting.as_ptr(), (&raw mut *work).cast());
        (!answer.is_null()).then(|| CStr::from_ptr(answer).to_owned())
    };
    phrase.zeroize();
    work.0.zeroize();
    match answer.and_then(|answer| answer.into_string().ok()) {
        // "*0" and "*1" are the library's way to say no without being equal to any hash.
        Some(hash) if !hash.starts_with('*') => Ok(hash),
        _ => Err(CryptLibraryError::Unknown),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The vector of the SHA-crypt specification.
    #[test]
    fn sha256_crypt() {
        let stored = "$5$saltstring$5B8vYYiY.CVt1RlTTf8KbXBH3hsxY/GNooZaBBGWEc5";
        assert_eq!(crypt("Hello world!", stored).unwrap(), stored);
        assert_ne!(crypt("Hello world", stored).unwrap(), stored);
    }

    #[test]
    fn yescrypt_round_trip() {
        let setting = "$y$j9T$F5Jx5fExrKuPp53xLKQ..1$";
        let stored = crypt("correct horse", setting).unwrap();
        assert!(stored.starts_with(setting) && stored.len() > setting.len());
        assert_eq!(crypt("correct horse", &stored).unwrap(), stored);
        assert_ne!(crypt("correct hors", &stored).unwrap(), stored);
    }

    #[test]
    fn what_cannot_be_hashed() {
        assert_eq!(crypt("x", "$nonsense$"), Err(CryptLibraryError::Unknown));
        assert_eq!(crypt("a\0b", "$5$saltstring$"), Err(CryptLibraryError::ZeroByte));
    }
}
