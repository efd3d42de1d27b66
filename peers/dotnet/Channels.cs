using System.Collections.Concurrent;
using System.Threading.Channels;
using Peers.Contest;
using Peers.Measuring;

namespace Peers;

/// <summary>Channels: what a message costs in time and processor time.</summary>
/// <remarks>
/// <c>1to1</c>, <c>4to1</c> and <c>2to2</c> pass half a million numbers from one, four or two producers to one or two
/// consumers; in <c>pingpong</c> one number goes to and fro between two, each waiting for the other.
/// </remarks>
internal static class Channels
{
    /// <summary>What answers as the contender of this name; null if there is none.</summary>
    public static Func<Request, Sample>? Contender(string name)
    {
        return name switch
        {
            "dotnet-pool-tasks" => new ChannelStage(new TaskPipes(TaskPipe.Make)).Answer,
            "dotnet-declared-pool-tasks" => new ChannelStage(new TaskPipes(TaskPipe.MakeDeclared)).Answer,
            "dotnet-collection" => new ChannelStage(new ThreadPipes()).Answer,
            _ => null,
        };
    }
}

/// <summary>How many hold each end of a channel, and how many numbers it holds; null is no limit.</summary>
internal readonly record struct PipeShape(int Producers, int Consumers, int? Capacity);

/// <summary>Passes numbers through the channels of one library.</summary>
internal interface IPipes
{
    /// <summary>
    /// Each producer sends the numbers below <paramref name="countEach"/>, and consumers add up what they receive until
    /// the end; gives the sum of the sums.
    /// </summary>
    ulong Pass(PipeShape shape, ulong countEach);

    /// <summary>
    /// One sends a number and waits for the answer, <paramref name="count"/> times, and adds the answers up; the other
    /// sends back what it receives.
    /// </summary>
    ulong Bounce(PipeShape shape, ulong count);
}

/// <summary>Channels of the framework.</summary>
internal static class TaskPipe
{
    /// <summary>A channel without options but for its capacity.</summary>
    public static Channel<ulong> Make(PipeShape shape)
    {
        return shape.Capacity is { } capacity
            ? Channel.CreateBounded<ulong>(capacity)
            : Channel.CreateUnbounded<ulong>();
    }

    /// <summary>A channel that knows where it has a single writer or a single reader.</summary>
    public static Channel<ulong> MakeDeclared(PipeShape shape)
    {
        (bool singleWriter, bool singleReader) = (shape.Producers == 1, shape.Consumers == 1);
        return shape.Capacity is { } capacity
            ? Channel.CreateBounded<ulong>(
                new BoundedChannelOptions(capacity) { SingleWriter = singleWriter, SingleReader = singleReader })
            : Channel.CreateUnbounded<ulong>(
                new UnboundedChannelOptions { SingleWriter = singleWriter, SingleReader = singleReader });
    }
}

/// <summary>Channels whose ends are used by tasks of the thread pool.</summary>
internal sealed class TaskPipes(Func<PipeShape, Channel<ulong>> make) : IPipes
{
    public ulong Pass(PipeShape shape, ulong countEach)
    {
        Channel<ulong> channel = make(shape);
        Task<ulong>[] consuming = Start(shape.Consumers, () => ConsumeAsync(channel.Reader));
        Task<ulong>[] producing = Start(shape.Producers, () => ProduceAsync(channel.Writer, countEach));
        Task.WaitAll(producing);
        channel.Writer.Complete();
        return consuming.Aggregate(0UL, (sum, task) => sum + task.Result);
    }

    public ulong Bounce(PipeShape shape, ulong count)
    {
        Channel<ulong> questions = make(shape);
        Channel<ulong> answers = make(shape);
        Task answering = Task.Run(() => AnswerAsync(questions.Reader, answers.Writer));
        Task<ulong> asking = Task.Run(() => AskAsync(questions.Writer, answers.Reader, count));
        Task.WaitAll(answering, asking);
        return asking.Result;
    }

    private static Task<ulong>[] Start(int count, Func<Task<ulong>> work)
    {
        return [.. Enumerable.Range(0, count).Select(_ => Task.Run(work))];
    }

    private static async Task<ulong> ProduceAsync(ChannelWriter<ulong> writer, ulong count)
    {
        for (ulong number = 0; number < count; number++)
        {
            await writer.WriteAsync(number);
        }

        return 0;
    }

    private static async Task<ulong> ConsumeAsync(ChannelReader<ulong> reader)
    {
        ulong sum = 0;
        await foreach (ulong number in reader.ReadAllAsync())
        {
            sum += number;
        }

        return sum;
    }

    private static async Task<ulong> AskAsync(ChannelWriter<ulong> questions, ChannelReader<ulong> answers, ulong count)
    {
        ulong sum = 0;
        for (ulong number = 0; number < count; number++)
        {
            await questions.WriteAsync(number);
            sum += await answers.ReadAsync();
        }

        questions.Complete();
        return sum;
    }

    private static async Task AnswerAsync(ChannelReader<ulong> questions, ChannelWriter<ulong> answers)
    {
        await foreach (ulong number in questions.ReadAllAsync())
        {
            await answers.WriteAsync(number);
        }
    }
}

/// <summary><see cref="BlockingCollection{T}"/>, whose ends block threads of their own.</summary>
internal sealed class ThreadPipes : IPipes
{
    public ulong Pass(PipeShape shape, ulong countEach)
    {
        using BlockingCollection<ulong> pipe = Make(shape);
        ulong total = 0;
        Thread[] consuming = Start(shape.Consumers, () => Interlocked.Add(ref total, Consume(pipe)));
        Thread[] producing = Start(shape.Producers, () => Produce(pipe, countEach));
        Join(producing);
        pipe.CompleteAdding();
        Join(consuming);
        return total;
    }

    public ulong Bounce(PipeShape shape, ulong count)
    {
        using BlockingCollection<ulong> questions = Make(shape);
        using BlockingCollection<ulong> answers = Make(shape);
        ulong sum = 0;
        Join(Start(1, () => Answer(questions, answers)).Concat(Start(1, () => sum = Ask(questions, answers, count))));
        return sum;
    }

    private static BlockingCollection<ulong> Make(PipeShape shape)
    {
        return shape.Capacity is { } capacity ? new BlockingCollection<ulong>(capacity) : [];
    }

    private static Thread[] Start(int count, Action work)
    {
        Thread[] threads = [.. Enumerable.Range(0, count).Select(_ => new Thread(() => work()))];
        Array.ForEach(threads, thread => thread.Start());
        return threads;
    }

    private static void Join(IEnumerable<Thread> threads)
    {
        foreach (Thread thread in threads)
        {
            thread.Join();
        }
    }

    private static void Produce(BlockingCollection<ulong> pipe, ulong count)
    {
        for (ulong number = 0; number < count; number++)
        {
            pipe.Add(number);
        }
    }

    private static ulong Consume(BlockingCollection<ulong> pipe)
    {
        ulong sum = 0;
        foreach (ulong number in pipe.GetConsumingEnumerable())
        {
            sum += number;
        }

        return sum;
    }

    private static ulong Ask(BlockingCollection<ulong> questions, BlockingCollection<ulong> answers, ulong count)
    {
        ulong sum = 0;
        for (ulong number = 0; number < count; number++)
        {
            questions.Add(number);
            sum += answers.Take();
        }

        questions.CompleteAdding();
        return sum;
    }

    private static void Answer(BlockingCollection<ulong> questions, BlockingCollection<ulong> answers)
    {
        foreach (ulong number in questions.GetConsumingEnumerable())
        {
            answers.Add(number);
        }
    }
}

/// <summary>
/// Answers <c>SHAPE LIMIT</c> with nanoseconds of wall time and of processor time per message; for <c>pingpong</c> per
/// round trip.
/// </summary>
internal sealed class ChannelStage(IPipes pipes)
{
    private string? _settledCase;

    public Sample Answer(Request request)
    {
        string[] words = request.Case.Split(' ');
        if (words is not [string shape, string limit])
        {
            throw request.NoCase();
        }

        int? capacity = limit switch
        {
            "unbounded" => null,
            "bounded" => Capacity,
            _ => throw request.NoCase(),
        };
        Func<ulong, ulong> run = shape switch
        {
            "1to1" => count => Pass(new PipeShape(1, 1, capacity), count),
            "4to1" => count => Pass(new PipeShape(4, 1, capacity), count),
            "2to2" => count => Pass(new PipeShape(2, 2, capacity), count),
            "pingpong" => count => pipes.Bounce(new PipeShape(1, 1, capacity), count),
            _ => throw request.NoCase(),
        };

        if (_settledCase != request.Case)
        {
            JustInTime.Settle(() => run(WarmUpMessages));
            _settledCase = request.Case;
        }

        run(WarmUpMessages);
        ulong count = shape == "pingpong" ? RoundTrips : Messages;
        CostMeter meter = CostMeter.Start();
        ulong checksum = run(count);
        Cost cost = meter.Stop();
        return new Sample(checksum, cost.Nanos / count, cost.ProcessorNanos / count);
    }

    private ulong Pass(PipeShape shape, ulong count) => pipes.Pass(shape, count / (ulong)shape.Producers);

    private const int Capacity = 128;
    private const ulong Messages = 500_000;
    private const ulong RoundTrips = 20_000;
    private const ulong WarmUpMessages = 1_000;
}
