import { useEffect, useState } from "preact/hooks";
import { Board } from "./Board";
import { usePath } from "./router";
import anchor from "./anchor.svg";

export function App() {
  const path = usePath();

  function fail() {
    throw new Error("The crane is stuck");
  }

  return (
    <main>
      <header>
        <img src={anchor} alt="" width="28" height="28" />
        <h1>Harbour board</h1>
        <nav>
          <a href="/" aria-current={path === "/" ? "page" : undefined}>Ships</a>
          <a href="/about" aria-current={path === "/about" ? "page" : undefined}>About</a>
        </nav>
      </header>
      {path === "/about" ? <About onFail={fail} /> : <Board />}
    </main>
  );
}

function About({ onFail }: { onFail: () => void }) {
  const [seconds, setSeconds] = useState(0);

  useEffect(() => {
    const timer = setInterval(() => setSeconds((value) => value + 1), 1000);
    return () => clearInterval(timer);
  }, []);

  return (
    <section>
      <h2>About this preview</h2>
      <p>It runs in a sandboxed iframe, and fetches every file by a call to the page.</p>
      <p>Open for {seconds} s.</p>
      <button onClick={onFail}>Throw an error</button>
    </section>
  );
}
