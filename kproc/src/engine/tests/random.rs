//! Random histories: whatever fails, rests, spills or falls back in between, each good record counts once.

use std::collections::BTreeMap;

use super::*;

/// A sequence of random numbers; the same for the same seed.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = crate::clock::mix(self.0.wrapping_add(crate::clock::GOLDEN));
        self.0 % limit
    }
}

/// Which records processor `N` fails on, after it has done its work.
const fn fails<const N: usize>(value: i64) -> bool {
    value % 7 == N as i64
}

/// Adds the value to its key's sum and sends on where it came from; then fails on some records.
fn busy<const N: usize>() -> Factory {
    script()
        .inputs(&[A, B])
        .on_record(|counts, ctx, record| {
            let key = key(record)?;
            let value = i64::from_be_bytes(record.value.unwrap().try_into()?);
            *counts.entry(key)?.or_default() += value;
            if value % 3 == 0 {
                // Twice in one record: the undo must bring back what was before both.
                counts.delete("gone")?;
                counts.put("gone", &value)?;
            }
            let from = format!("{N} {} {}", ctx.topic().unwrap(), ctx.offset().unwrap());
            ctx.send(&OUT, &from, &value)?;
            if fails::<N>(value) {
                Err(Error::msg("bad"))
            } else {
                Ok(())
            }
        })
        .processor::<N>()
}

/// What was fed: key, value, timestamp, by input.
type Log = Vec<(String, i64, i64)>;

struct History {
    chance: Chance,
    rig: Rig,
    logs: [Log; 2],
    /// How far each input was fed, and what is committed.
    fed: [usize; 2],
    committed: [usize; 2],
    out: Vec<String>,
}

impl History {
    fn step(&mut self) {
        match self.chance.below(10) {
            0..4 => {
                let input = self.chance.below(2) as usize;
                self.grow(input);
                self.feed(input);
            }
            4..7 => {
                self.rig.budget = 200 + self.chance.below(20_000) as usize;
                self.rig.run().unwrap();
            }
            7 => {
                self.rig.rest.ask();
                assert_eq!(self.rig.run().unwrap(), Pause::Asked);
                self.rig.rest.clear();
            }
            8 => self.commit(),
            _ => {
                self.rig.fall_back();
                self.fed = self.committed;
            }
        }
    }

    /// Makes new records for an input that has been fed all there were.
    fn grow(&mut self, input: usize) {
        let log = &mut self.logs[input];
        if self.fed[input] == log.len() {
            for _ in 0..=self.chance.below(40) {
                let key = format!("key-{}", self.chance.below(20));
                log.push((
                    key,
                    self.chance.below(1_000) as i64,
                    self.chance.below(5_000) as i64,
                ));
            }
        }
    }

    /// Feeds an input its next records, which after a fall-back are those that were taken back.
    fn feed(&mut self, input: usize) {
        let log = &self.logs[input];
        let start = self.fed[input];
        let end = (start + 1 + self.chance.below(60) as usize).min(log.len());
        let values: Vec<_> = log[start..end].iter().map(|record| n(record.1)).collect();
        let records = log[start..end].iter().zip(&values);
        let records: Vec<_> = records
            .map(|((key, _, time), value)| Fed {
                value: Some(value),
                ..rec(key, *time)
            })
            .collect();
        let load = Load::new(start as u64, &records);
        self.rig.feed_load(input, &load);
        self.fed[input] = end;
    }

    fn commit(&mut self) {
        let Some((sent, commit)) = self.rig.commit() else {
            return;
        };
        for (input, next) in commit.inputs {
            self.committed[input] = next.get() as usize;
        }
        self.out
            .extend(keys(&sent).into_iter().filter(|key| key.contains(' ')));
    }

    fn finish(mut self) {
        for input in 0..2 {
            while self.fed[input] < self.logs[input].len() {
                self.feed(input);
            }
        }
        while self.rig.run().unwrap() != Pause::Starved {
            self.commit();
        }
        self.commit();
        assert_eq!(self.committed, [self.logs[0].len(), self.logs[1].len()]);

        let mut sums = BTreeMap::<&str, i64>::new();
        let mut expected = Vec::new();
        for (topic, log) in ["a", "b"].into_iter().zip(&self.logs) {
            for (offset, (key, value, _)) in log.iter().enumerate() {
                if !fails::<1>(*value) && !fails::<2>(*value) {
                    *sums.entry(key).or_default() += value;
                    expected.extend([format!("1 {topic} {offset}"), format!("2 {topic} {offset}")]);
                }
            }
        }
        for (key, sum) in sums {
            assert_eq!(
                (count::<1>(&self.rig, key), count::<2>(&self.rig, key)),
                (Some(sum), Some(sum)),
                "{key}"
            );
        }
        // Each input's records in their order, each once to each processor.
        for topic in ["a", "b"] {
            let of = |all: &[String]| -> Vec<String> {
                all.iter()
                    .filter(|from| from.split(' ').nth(1) == Some(topic))
                    .cloned()
                    .collect()
            };
            assert_eq!(of(&self.out), of(&expected));
        }
    }
}

#[test]
fn each_good_record_counts_once_whatever_happens() {
    for seed in 0..60 {
        let mut history = History {
            chance: Chance(seed),
            rig: started(vec![busy::<1>(), busy::<2>()], policy(Policy::Skip)),
            logs: [vec![], vec![]],
            fed: [0; 2],
            committed: [0; 2],
            out: vec![],
        };
        for _ in 0..60 {
            history.step();
        }
        history.finish();
    }
}
