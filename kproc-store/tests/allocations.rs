//! Warm keys cost no heap allocation. A program of its own, since it counts all allocations of the process.

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
    sync::Arc,
};

use kproc_store::{CommitPoint, Environment, EnvironmentOptions, Marks, Store, Table};

struct Counting;

thread_local! {
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: passes everything on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.with(|count| count.set(count.get() + 1));
        // SAFETY: the caller's promises are those of the system's allocator.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        COUNT.with(|count| count.set(count.get() + 1));
        // SAFETY: as above.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn allocations(f: impl FnOnce()) -> u64 {
    let before = COUNT.with(Cell::get);
    f();
    COUNT.with(Cell::get) - before
}

#[test]
fn no_verb_allocates_on_a_warm_key() {
    let directory = tempfile::tempdir().unwrap();
    let mut counts = Table::<String, i64>::default();
    let mut names = Table::<u64, String>::default();
    let specs = [counts.spec("counts".into()), names.spec("names".into())];
    let options = EnvironmentOptions::default();
    let environment = Environment::open(directory.path(), &specs, &options)
        .unwrap()
        .environment;
    let marks = Arc::new(Marks::default());
    counts.attach(environment.buffer(0, &marks).unwrap());
    names.attach(environment.buffer(1, &marks).unwrap());
    let keys: Vec<_> = (0..1000).map(|n| format!("key-{n:05}")).collect();

    let mut work = |fail: bool| {
        for (n, key) in keys.iter().enumerate() {
            marks.begin();
            *counts.entry(key).unwrap().or_default() += 1;
            let count = counts.get(key).unwrap().unwrap();
            counts.put(key, &(count + 1)).unwrap();
            counts.update(key, |count| count.map(|n| n + 1)).unwrap();
            assert!(counts.contains(key).unwrap());
            names.delete(&(n as u64)).unwrap();
            names.put(&(n as u64), key).unwrap();
            assert_eq!(names.get(&(n as u64)).unwrap(), Some(&key[..]));
            if fail {
                counts.buffer().unwrap().undo();
                names.buffer().unwrap().undo();
            }
        }
    };
    // The first time there is memory to be had, the second time for what is overwritten.
    assert!(allocations(|| work(false)) > 0);
    assert!(allocations(|| work(false)) > 0);
    assert_eq!(allocations(|| work(false)), 0);
    assert_eq!(allocations(|| work(true)), 0);

    // After a commit the same memory is used again. The first commits find out how much it takes.
    let commit = |counts: &mut Table<String, i64>| {
        let buffers = &mut [(0, counts.buffer().unwrap())];
        environment.commit(buffers, &CommitPoint::default()).unwrap();
    };
    names.detach();
    for _ in 0..3 {
        commit(&mut counts);
        for key in &keys {
            counts.put(key, &1).unwrap();
        }
    }
    commit(&mut counts);
    let again = allocations(|| {
        for key in &keys {
            counts.put(key, &1).unwrap();
        }
    });
    assert_eq!(again, 0);
}
