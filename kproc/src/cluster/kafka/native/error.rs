//! Errors as librdkafka tells them.

use std::fmt;

use rdkafka_sys as sys;

use super::owned;

/// librdkafka's number of an error.
pub(in super::super) use sys::rd_kafka_resp_err_t as Code;

/// The number for "no error".
pub(super) const NO_ERROR: Code = Code::RD_KAFKA_RESP_ERR_NO_ERROR;

/// An error, with what librdkafka says can be done about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) struct NativeError {
    pub(in super::super) code: Code,
    pub(in super::super) text: String,
    /// The client is of no more use.
    pub(in super::super) fatal: bool,
    /// The same call may be made again; it goes on where it was.
    pub(in super::super) retriable: bool,
    /// The transaction must be aborted.
    pub(in super::super) abortable: bool,
}

impl NativeError {
    /// An error that is just a number.
    pub(in super::super) fn of(code: Code) -> Self {
        // SAFETY: the text is static.
        let text = unsafe { owned(sys::rd_kafka_err2str(code)) };
        Self::with(code, text)
    }

    /// An error with a text of its own.
    pub(in super::super) fn with(code: Code, text: String) -> Self {
        Self {
            code,
            text,
            fatal: false,
            retriable: false,
            abortable: false,
        }
    }

    /// Nothing, or an error.
    pub(super) fn check(code: Code) -> Result<(), Self> {
        if code == NO_ERROR {
            Ok(())
        } else {
            Err(Self::of(code))
        }
    }

    /// Takes an error object; null is none.
    ///
    /// # Safety
    /// `error` is null or an error object that belongs to the caller, who gives it away.
    pub(super) unsafe fn take(error: *mut sys::rd_kafka_error_t) -> Result<(), Self> {
        // SAFETY: as for this function.
        let outcome = unsafe { Self::look(error) };
        if !error.is_null() {
            // SAFETY: it is an error object and ours.
            unsafe { sys::rd_kafka_error_destroy(error) };
        }
        outcome
    }

    /// Reads an error object that stays where it is; null is none.
    ///
    /// # Safety
    /// `error` is null or an error object.
    pub(super) unsafe fn look(error: *const sys::rd_kafka_error_t) -> Result<(), Self> {
        if error.is_null() {
            return Ok(());
        }
        // SAFETY: it is an error object; its text lives as long as it does.
        unsafe {
            let code = sys::rd_kafka_error_code(error);
            if code == NO_ERROR {
                return Ok(());
            }
            Err(Self {
                code,
                text: owned(sys::rd_kafka_error_string(error)),
                fatal: sys::rd_kafka_error_is_fatal(error) != 0,
                retriable: sys::rd_kafka_error_is_retriable(error) != 0,
                abortable: sys::rd_kafka_error_txn_requires_abort(error) != 0,
            })
        }
    }

    /// The provider of tokens has failed.
    pub(in super::super) fn is_missing_token(&self) -> bool {
        self.code == Code::RD_KAFKA_RESP_ERR__AUTHENTICATION
            && self.text.starts_with("Failed to acquire SASL OAUTHBEARER token")
    }

    /// The code's name, as in Kafka's documentation.
    pub(in super::super) fn name(&self) -> String {
        // SAFETY: the text is static.
        unsafe { owned(sys::rd_kafka_err2name(self.code)) }
    }
}

impl fmt::Display for NativeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.text, self.name())
    }
}
