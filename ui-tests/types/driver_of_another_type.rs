//! A test runs processors.

fn main() {
    let _ = kproc::testing::TestDriver::new::<String>();
    //~^
}
