//! Data that is fetched: the last good value and the newest error live side by side, so that a failed refresh never
//! empties a page.

use std::{any::Any, rc::Rc};

/// What is known of one fetched thing.
#[derive(Debug, PartialEq)]
pub struct LoadResult<T> {
    /// Last good value and when it arrived (milliseconds since the epoch).
    pub data: Option<(Rc<T>, f64)>,
    /// Why the newest attempt failed; cleared by the next good one.
    pub error: Option<Rc<Problem>>,
    /// An attempt is under way.
    pub loading: bool,
}

/// A failure as the page shows it: stable code, what was attempted, what the server said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Stable code of the server, or `network`, `decode`.
    pub code: String,
    /// HTTP status, 0 when no answer came.
    pub status: u16,
    /// One sentence.
    pub detail: String,
}

impl<T> Default for LoadResult<T> {
    fn default() -> Self {
        Self {
            data: None,
            error: None,
            loading: false,
        }
    }
}

impl<T> Clone for LoadResult<T> {
    fn clone(&self) -> Self {
        Self {
            data: self.data.clone(),
            error: self.error.clone(),
            loading: self.loading,
        }
    }
}

impl<T> LoadResult<T> {
    /// The value, stale or not.
    pub fn value(&self) -> Option<&Rc<T>> {
        self.data.as_ref().map(|(value, _)| value)
    }

    /// The same with an attempt under way.
    #[must_use]
    pub fn started(&self) -> Self {
        Self {
            loading: true,
            ..self.clone()
        }
    }

    /// The same after an attempt: a good answer replaces everything, a bad one keeps the data.
    #[must_use]
    pub fn finished(&self, outcome: Result<T, Problem>, now_ms: f64) -> Self {
        match outcome {
            Ok(value) => Self {
                data: Some((Rc::new(value), now_ms)),
                error: None,
                loading: false,
            },
            Err(problem) => Self {
                data: self.data.clone(),
                error: Some(Rc::new(problem)),
                loading: false,
            },
        }
    }

    /// True while the first answer has not come.
    pub fn is_first(&self) -> bool {
        self.data.is_none() && self.error.is_none()
    }
}

impl LoadResult<Rc<dyn Any>> {
    /// The same with the type that was put in; without data when it was another.
    #[must_use]
    pub fn typed<T: 'static>(&self) -> LoadResult<T> {
        let typed = |(value, at): &(Rc<Rc<dyn Any>>, f64)| Some((Rc::clone(&**value).downcast().ok()?, *at));
        LoadResult {
            data: self.data.as_ref().and_then(typed),
            error: self.error.clone(),
            loading: self.loading,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_that_was_put_in_comes_out() {
        let any = LoadResult::<Rc<dyn Any>>::default().finished(Ok(Rc::new(7u32)), 1.0);
        assert_eq!(any.typed::<u32>().data.map(|(v, at)| (*v, at)), Some((7, 1.0)));
        assert!(any.typed::<String>().data.is_none());
    }

    #[test]
    fn an_error_keeps_the_data_and_good_news_clears_the_error() {
        let first = LoadResult::default().started().finished(Ok(7), 1.0);
        let problem = Problem {
            code: "network".into(),
            status: 0,
            detail: "no answer".into(),
        };
        let failed = first.finished(Err(problem), 2.0);
        assert_eq!(failed.value().map(|v| **v), Some(7));
        assert!(failed.error.is_some());
        let good = failed.started().finished(Ok(8), 3.0);
        assert!(good.error.is_none() && !good.loading);
        assert_eq!(good.data.map(|(v, at)| (*v, at)), Some((8, 3.0)));
    }
}
