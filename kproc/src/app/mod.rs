//! The application: its processors, its settings, and how it is run.
//!
//! What may be here: what a program says before anything runs. How it then runs is `runtime`'s; the command
//! line is `cli`'s.

mod brokers;
mod demo;
mod feed;
mod plan;
mod topics;

use std::{fmt, path::Path, sync::Arc};

pub use demo::{Demo, Results};
pub(crate) use demo::{FeedWith, each_record};
pub use feed::Feed;
pub(crate) use feed::{Partitions, make_topics, write};
pub(crate) use plan::plan;
pub(crate) use topics::Topics;

#[cfg(feature = "kafka")]
use crate::cluster::kafka::TokenProvider;
use crate::{
    Processor, Topic,
    clock::SystemClock,
    cluster::Cluster,
    config::Settings,
    engine::{Factory, factory},
    runtime::{self, RunError, Running, Spawner, Threads},
};

/// An application: processors under one id.
///
/// [`kproc::main!`](crate::main) writes this for you; write it yourself as soon as you want a factory, settings
/// in code, or an id of your own:
///
/// ```no_run
/// # use kproc::{App, Context, Processor, Record, Result, processor::Declare};
/// # use std::{process::ExitCode, time::Duration};
/// # struct Checkout { rate: f64 }
/// # impl Processor for Checkout {
/// #     fn declare(&mut self, _: &mut dyn Declare) {}
/// #     async fn process(&mut self, _: &mut Context<'_>, _: &Record<'_>) -> Result<()> { Ok(()) }
/// # }
/// fn main() -> ExitCode {
///     App::new("checkout")
///         .processor_with(|| Checkout { rate: 1.2 })
///         .configure(|settings| settings.commit_interval = Some(Duration::from_millis(200)))
///         .main()
/// }
/// ```
///
/// Its id names the consumer group, and is part of the names of changelogs and of the state directory:
/// whoever changes it begins anew.
#[must_use = "an application does nothing before `main`, `run` or `start`"]
pub struct App {
    pub(crate) id: Arc<str>,
    pub(crate) version: Option<String>,
    pub(crate) about: Option<String>,
    pub(crate) factories: Vec<Factory>,
    pub(crate) settings: Settings,
    pub(crate) cluster: Option<Arc<dyn Cluster>>,
    pub(crate) demo: Option<Demo>,
    #[cfg(feature = "kafka")]
    pub(crate) tokens: Option<TokenProvider>,
}

impl fmt::Debug for App {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("App")
            .field("id", &self.id)
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

impl App {
    /// An application of this id, without processors yet.
    pub fn new(id: impl Into<Arc<str>>) -> Self {
        Self {
            id: id.into(),
            version: None,
            about: None,
            factories: Vec::new(),
            settings: Settings::default(),
            cluster: None,
            demo: None,
            #[cfg(feature = "kafka")]
            tokens: None,
        }
    }

    /// Adds a processor that is made by its `Default`: `.processor::<Totals>()`. It is named by its type, for it is made once for
    /// each of its partitions.
    // The compiler shows the first line of this to those who pass a value.
    pub fn processor</* by its type, and no value: `.processor::<Totals>()` */ P>(self) -> Self
    where
        P: Processor + Default,
    {
        self.processor_with(P::default)
    }

    /// Adds a processor that `make` makes: once for each of its partitions, and anew after a failure.
    pub fn processor_with<P: Processor>(mut self, make: impl Fn() -> P + Send + Sync + 'static) -> Self {
        self.factories.push(factory(make));
        self
    }

    /// Binds a topic of the program to another name in the cluster. Whoever starts the program may bind it
    /// otherwise (`--topic words=prod.words`).
    pub fn bind<K, V>(mut self, topic: &Topic<K, V>, name: impl Into<String>) -> Self {
        self.settings.topics.insert(topic.name().to_owned(), name.into());
        self
    }

    /// Changes settings in code. Whoever starts the program may set them otherwise.
    pub fn configure(mut self, change: impl FnOnce(&mut Settings)) -> Self {
        change(&mut self.settings);
        self
    }

    /// What `--version` says.
    pub fn version(mut self, version: impl Into<String>) -> Self {
        self.version = Some(version.into());
        self
    }

    /// What `--help` says first.
    pub fn about(mut self, about: impl Into<String>) -> Self {
        self.about = Some(about.into());
        self
    }

    /// Runs on this cluster, whatever the settings say of brokers. For tests and for programs that bring a
    /// cluster of their own, such as an [embedded one](crate::cluster::embedded).
    pub fn on(mut self, cluster: Arc<dyn Cluster>) -> Self {
        self.cluster = Some(cluster);
        self
    }

    /// Logs in to the brokers by tokens from there, with the properties `security.protocol = sasl_ssl` and
    /// `sasl.mechanism = OAUTHBEARER`.
    #[cfg(feature = "kafka")]
    pub fn tokens(mut self, provider: TokenProvider) -> Self {
        self.tokens = Some(provider);
        self
    }

    /// States that the program is a demonstration: started without saying more, it runs by itself.
    pub fn demo(mut self, demo: Demo) -> Self {
        self.demo = Some(demo);
        self
    }

    /// Starts the application on threads of its own and returns at once, with a handle on it.
    ///
    /// Settings are those of the program alone: flags, variables and files are [`main`](App::main)'s.
    pub fn start(self) -> Result<Running, RunError> {
        let topology = Arc::new(self.topology(&self.settings)?);
        let clock = Arc::new(SystemClock::new());
        let cluster = self.connect(&self.settings, clock.clone())?;
        let directory = state_dir(&self.settings).to_owned();
        let threads: Arc<dyn Spawner> = Arc::new(Threads);
        runtime::start(
            plan(topology, self.factories.into(), &self.settings, directory),
            cluster,
            clock,
            &threads,
        )
    }

    /// Runs the application until somebody stops it from inside, or it fails. Blocks the thread.
    pub fn run(self) -> Result<(), RunError> {
        self.start()?.wait_blocking()
    }
}

/// Where state is kept; the application's id is a directory in it.
pub(crate) fn state_dir(settings: &Settings) -> &Path {
    settings.state_dir.as_deref().unwrap_or(Path::new("kproc-state"))
}

/// The `main` of a program that consists of these processors.
///
/// ```
/// # use kproc::{Context, Processor, Record, Result, processor::Declare};
/// # #[derive(Default)]
/// # struct Totals;
/// # impl Processor for Totals {
/// #     fn declare(&mut self, _: &mut dyn Declare) {}
/// #     async fn process(&mut self, _: &mut Context<'_>, _: &Record<'_>) -> Result<()> { Ok(()) }
/// # }
/// # mod program { use super::Totals;
/// kproc::main!(Totals);
/// # }
/// # fn main() {}
/// ```
///
/// stands for
///
/// ```ignore
/// fn main() -> std::process::ExitCode {
///     kproc::App::new(env!("CARGO_PKG_NAME")).processor::<Totals>().main()
/// }
/// ```
///
/// with the package's version and description for `--version` and `--help`.
///
/// The package's name is the application's id: the name of its consumer group, and part of the names of its
/// changelogs and of its state directory. Two programs of one package would be one application, and get into each
/// other's way: write each of them the `main` above, with an id of its own in [`App::new`](crate::App::new).
#[macro_export]
macro_rules! main {
    ($($processor:ty),+ $(,)?) => {
        fn main() -> $crate::__private::ExitCode {
            $crate::App::new($crate::__private::core::env!("CARGO_PKG_NAME"))
                .version($crate::__private::core::env!("CARGO_PKG_VERSION"))
                .about($crate::__private::core::env!("CARGO_PKG_DESCRIPTION"))
                $(.processor::<$processor>())+
                .main()
        }
    };
    ($text:literal $($rest:tt)*) => {
        fn main() {
            $crate::__private::ProcessorType::main($text);
        }
    };
    () => {
        $crate::__private::core::compile_error!("an application has one processor at least: `kproc::main!(Totals);`");
        fn main() {}
    };
}
