//! Requests with keys or passwords in them: wiped wherever their way ends.

use std::ops::Deref;

use fleethold_api_types::{ChangePassword, ContentRequest, CreateRestore, LoginRequest, PlanRequest};
use zeroize::Zeroize;

/// A request with secrets in it. Its type is shared with the page, where they are plain text.
pub trait Secrets: Clone {
    /// Overwrites them.
    fn wipe(&mut self);
}

macro_rules! secrets {
    ($($request:ty: $($field:ident),+;)+) => {$(
        impl Secrets for $request {
            fn wipe(&mut self) {
                $(self.$field.zeroize();)+
            }
        }
    )+};
}
secrets! {
    CreateRestore: key, key_password;
    PlanRequest: key, key_password;
    ContentRequest: key, key_password;
    LoginRequest: password;
    ChangePassword: current_password, new_password;
}

/// A request whose secrets are wiped when it is dropped: on every early return, too.
pub struct Wiped<T: Secrets>(T);

impl<T: Secrets> Wiped<T> {
    /// Holds a request.
    #[must_use]
    pub fn new(request: T) -> Self {
        Self(request)
    }

    /// A copy for somebody who takes its secrets into [`zeroize::Zeroizing`] at once; the one held here is wiped all the same.
    #[must_use]
    pub fn hand_over(self) -> T {
        self.0.clone()
    }
}

impl<T: Secrets> Deref for Wiped<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Secrets> Drop for Wiped<T> {
    fn drop(&mut self) {
        self.0.wipe();
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::rc::Rc;

    use super::*;

    #[derive(Clone)]
    struct Probe(Rc<Cell<bool>>);

    impl Secrets for Probe {
        fn wipe(&mut self) {
            self.0.set(true);
        }
    }

    #[test]
    fn wiped_when_refused_and_when_taken() {
        let wiped = Rc::new(Cell::new(false));
        drop(Wiped::new(Probe(Rc::clone(&wiped))));
        assert!(wiped.replace(false));
        let taken = Wiped::new(Probe(Rc::clone(&wiped))).hand_over();
        assert!(wiped.get());
        drop(taken);
    }

    #[test]
    fn nothing_is_left_of_a_password() {
        let mut request = ChangePassword {
            current_password: "old secret".into(),
            new_password: "new secret".into(),
        };
        request.wipe();
        assert!(request.current_password.is_empty() && request.new_password.is_empty());
    }
}
