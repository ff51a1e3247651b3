//! A factory makes processors.

fn main() {
    let _ = kproc::App::new("app").processor_with(String::new);
    //~^
}
