using Peers.Contest;
using Peers.Measuring;

namespace Peers;

/// <summary>
/// Many sleeps at the same time: what they take in memory and processor time, and how late they end.
/// </summary>
/// <remarks>
/// In <c>tasks</c> each <see cref="Task.Delay(int)"/> is awaited by a task of its own, started from outside the pool
/// and kept. In <c>join_all</c> the calling thread waits for <see cref="Task.WhenAll(Task[])"/> of them all. In
/// <c>slice</c> one task of the pool awaits them one by one. The parent starts a fresh process for each measurement.
/// </remarks>
internal static class Timers
{
    /// <summary>What answers as the contender of this name; null if there is none.</summary>
    public static Func<Request, Sample>? Contender(string name) => name == "dotnet" ? Answer : null;

    /// <summary>
    /// Answers <c>SHAPE COUNT MILLISECONDS</c> with nanoseconds from the first step to the last, nanoseconds by which
    /// the last end is later than the last deadline, nanoseconds of processor time, and megabytes of memory at the peak
    /// above those at the start.
    /// </summary>
    private static Sample Answer(Request request)
    {
        string[] words = request.Case.Split(' ');
        if (words is not [string shape, string countWord, string lengthWord]
            || !int.TryParse(countWord, out int count)
            || !int.TryParse(lengthWord, out int milliseconds))
        {
            throw request.NoCase();
        }

        Action<int, int> sleep = shape switch
        {
            "tasks" => SleepInTasks,
            "join_all" => SleepJoined,
            "slice" => SleepInOneTask,
            _ => throw request.NoCase(),
        };

        // The first sleeps start the threads, and the compiler settles.
        JustInTime.Settle(() => sleep(WarmUpSleeps, 1));
        long before = LatestTimes.EndCount();
        sleep(WarmUpSleeps, 1);

        CostMeter meter = CostMeter.StartCollected();
        sleep(count, milliseconds);
        Cost cost = meter.Stop();

        return new Sample(
            (ulong)(LatestTimes.EndCount() - before),
            cost.Nanos,
            LatestTimes.NanosBetween() - (milliseconds * 1e6),
            cost.ProcessorNanos,
            cost.Megabytes);
    }

    /// <summary>A task for each sleep.</summary>
    private static void SleepInTasks(int count, int milliseconds)
    {
        async Task SleepAsync()
        {
            LatestTimes.NoteBegin();
            await Task.Delay(milliseconds);
            LatestTimes.NoteEnd();
        }

        Task[] tasks = new Task[count];
        for (int index = 0; index < count; index++)
        {
            tasks[index] = Task.Run(SleepAsync);
        }

        foreach (Task task in tasks)
        {
            task.Wait();
        }
    }

    /// <summary>All awaited together, for which the calling thread waits.</summary>
    private static void SleepJoined(int count, int milliseconds)
    {
        Task[] delays = Delays(count, milliseconds);
        LatestTimes.NoteBegin();
        Task.WhenAll(delays).Wait();
        LatestTimes.NoteEnd();
    }

    /// <summary>All awaited by one task of the pool.</summary>
    private static void SleepInOneTask(int count, int milliseconds)
    {
        async Task SleepAllAsync()
        {
            Task[] delays = Delays(count, milliseconds);
            LatestTimes.NoteBegin();
            foreach (Task delay in delays)
            {
                await delay;
            }

            LatestTimes.NoteEnd();
        }

        Task.Run(SleepAllAsync).Wait();
    }

    private static Task[] Delays(int count, int milliseconds)
    {
        Task[] delays = new Task[count];
        for (int index = 0; index < count; index++)
        {
            delays[index] = Task.Delay(milliseconds);
        }

        return delays;
    }

    private const int WarmUpSleeps = 1_000;
}

/// <summary>
/// When the last sleep began and when the last one ended, noted without contention: each thread keeps its own latest
/// times in cache lines of its own, as in <see cref="Tally"/>.
/// </summary>
internal static class LatestTimes
{
    private static readonly Watch s_origin = Watch.Start();
    private static readonly List<Line> s_lines = [];

    [ThreadStatic]
    private static Line? t_line;

    /// <summary>A sleep begins on this thread.</summary>
    public static void NoteBegin() => OwnLine().Begin.Value = (ulong)s_origin.Nanos;

    /// <summary>A sleep has ended on this thread.</summary>
    public static void NoteEnd()
    {
        Line line = OwnLine();
        line.End.Value = (ulong)s_origin.Nanos;
        line.Count.Value++;
    }

    /// <summary>How many have ended. The caller has waited for the tasks, here and below.</summary>
    public static long EndCount()
    {
        lock (s_lines)
        {
            return s_lines.Sum(line => (long)line.Count.Value);
        }
    }

    /// <summary>Nanoseconds from the last begin to the last end.</summary>
    public static double NanosBetween()
    {
        lock (s_lines)
        {
            return (double)s_lines.Max(line => line.End.Value) - s_lines.Max(line => line.Begin.Value);
        }
    }

    private static Line OwnLine() => t_line ??= Register();

    private static Line Register()
    {
        Line line = new();
        lock (s_lines)
        {
            s_lines.Add(line);
        }

        return line;
    }

    /// <summary>One thread's numbers.</summary>
    private sealed class Line
    {
        public Padded Begin { get; } = new();

        public Padded End { get; } = new();

        public Padded Count { get; } = new();
    }
}
