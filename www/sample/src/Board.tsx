import { useEffect, useState } from "preact/hooks";

interface Ship {
  name: string;
  berth: number;
  cargo: string;
}

export function Board() {
  const [ships, setShips] = useState<Ship[]>([]);
  const [moored, setMoored] = useState(0);

  useEffect(() => {
    fetch("/ships.json")
      .then((response) => response.json())
      .then(setShips);
  }, []);

  function moor() {
    setMoored(moored + 1);
    console.log("moored", { ships: moored + 1 });
  }

  return (
    <section>
      <h2>Arrivals</h2>
      <table>
        <thead>
          <tr><th>Ship</th><th>Berth</th><th>Cargo</th></tr>
        </thead>
        <tbody>
          {ships.map((ship) => (
            <tr key={ship.name}>
              <td>{ship.name}</td><td>{ship.berth}</td><td>{ship.cargo}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <button onClick={moor}>Moor a ship ({moored})</button>
    </section>
  );
}
