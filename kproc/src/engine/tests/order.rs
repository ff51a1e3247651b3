//! Which record is next.

use super::*;

/// Notes topic, key and timestamp of every record of two inputs.
struct Notes(Diary);

impl Processor for Notes {
    fn declare(&mut self, to: &mut dyn Declare) {
        to.input(0, &A, Start::Earliest);
        to.input(1, &B, Start::Earliest);
    }

    async fn process(&mut self, ctx: &mut Context<'_>, record: &Record<'_>) -> Result<()> {
        let key = String::from_utf8_lossy(record.key.unwrap_or(b"-")).into_owned();
        let topic = ctx.topic().unwrap();
        assert_eq!(topic, if record.input == 0 { "a" } else { "b" });
        self.0.note(format!(
            "{topic} {key} {}",
            ctx.stream_time().unwrap().as_millis()
        ));
        Ok(())
    }
}

fn rig() -> (Rig, Diary) {
    let diary = Diary::default();
    let notes = diary.clone();
    let mut rig = Rig::of(
        vec![factory(move || Notes(notes.clone()))],
        TaskSettings::default(),
    );
    rig.start().unwrap();
    (rig, diary)
}

#[test]
fn lowest_timestamp_goes_first_and_ties_follow_the_inputs() {
    let (mut rig, diary) = rig();
    let n = &[0; 8];
    rig.feed("a", &[rec("1", n, 10), rec("2", n, 30), rec("3", n, 20)]);
    rig.feed("b", &[rec("1", n, 10), rec("2", n, 15), rec("3", n, 40)]);
    assert_eq!(rig.run().unwrap(), Pause::Starved);
    // "3" of `a` comes after "2" of `a`, however early it is: a partition's order is never changed.
    assert_eq!(
        diary.read(),
        ["a 1 10", "b 1 10", "b 2 15", "a 2 30", "a 3 30", "b 3 40"]
    );
}
